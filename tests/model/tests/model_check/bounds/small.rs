//! The small corners of answers that are streamed to the end.

use super::*;

/// Two calls in two hops, with everything in it.
pub(super) fn small() -> Vec<Bounds> {
    vec![
        Bounds::new(
            "chat, stored, one crash",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Approval];
                bounds.crashes = 1;
            },
        ),
        Bounds::new(
            "chat, idempotent, one crash",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Idempotent, Kind::Unknown];
                bounds.texts = true;
                bounds.crashes = 1;
                bounds.shows = true;
            },
        ),
        Bounds::new(
            "chat, not stored, runs made by the backend",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Malformed, Kind::Approval];
                bounds.texts = true;
                config.durability = Durability::None;
                config.run_ids = RunIds::Host;
                config.limits.at_limit = LimitPolicy::SumUp;
            },
        ),
        Bounds::new("agent, questions", Dialect::AgUi, |bounds, config| {
            bounds.kinds = vec![Kind::Plain, Kind::Answered, Kind::Unended];
            bounds.calls = 1;
            bounds.questions = 1;
            bounds.texts = true;
            bounds.crashes = 1;
            config.limits.at_limit = LimitPolicy::Fail;
        }),
        Bounds::new(
            "chat, single calls stopped, edited, deferred, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Approval];
                bounds.calls = 1;
                bounds.crashes = 1;
                bounds.failures = false;
                bounds.extras = Extras::ALL;
                config.timeouts.deferred = None;
            },
        ),
        Bounds::new(
            "chat, tools that ask the user, one crash",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Idempotent];
                bounds.calls = 1;
                bounds.crashes = 1;
                bounds.failures = false;
                bounds.extras.asks = true;
            },
        ),
        Bounds::new(
            "chat, two calls stopped and deferred",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Unknown];
                bounds.failures = false;
                bounds.extras = Extras::ALL;
                config.durability = Durability::None;
            },
        ),
        Bounds::new(
            "chat, the network and the background",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.device = 2;
                bounds.texts = true;
                config.run_ids = RunIds::Host;
                config.durability = Durability::None;
                config.device.network_change = NetworkChangePolicy::Reopen;
            },
        ),
        Bounds::new(
            "chat, typing during the turn, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.steers = 2;
                bounds.crashes = 1;
                bounds.failures = false;
                config.limits.at_limit = LimitPolicy::SumUp;
            },
        ),
        Bounds::new(
            "chat, the network and one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.device = 1;
                bounds.crashes = 1;
                config.device.offline = OfflinePolicy::Fail;
                config.device.background = BackgroundPolicy::Cancel;
            },
        ),
        Bounds::new(
            "chat, keys of the host's, a bad network, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.crashes = 1;
                bounds.device = 1;
                config.credentials = Credentials::Host;
            },
        ),
        Bounds::new(
            "chat, retries by kind, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.kinds = vec![Kind::Plain, Kind::Malformed];
                bounds.crashes = 1;
                config.retry = [
                    Retry::after(ErrorKind::ServerError).attempts(3),
                    Retry::after(ErrorKind::Connection).attempts(1),
                    Retry::after(ErrorKind::OutputInvalid).attempts(2),
                ]
                .into_iter()
                .fold(config.retry.clone(), RetryPolicy::with);
            },
        ),
        Bounds::new(
            "chat, an answer that is asked for again after its text, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 0;
                bounds.texts = true;
                bounds.crashes = 1;
                config.retry = after_text(&config.retry);
            },
        ),
        Bounds::new(
            "chat, an answer that is asked for again after its text, tools",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.texts = true;
                config.durability = Durability::None;
                config.retry = after_text(&config.retry);
            },
        ),
        Bounds::new(
            "chat, another model after a failure, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.texts = true;
                bounds.crashes = 1;
                config.retry.attempts = 1;
                config.fallback.models = vec![other(config)];
                config.fallback.after_text = true;
            },
        ),
        Bounds::new(
            "chat, another model for a filtered answer, a hook on its answers",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.texts = true;
                bounds.filters = true;
                bounds.failures = false;
                config.durability = Durability::None;
                config.hooks = vec![HookSpec::new("h", [HookMoment::AfterAnswer])];
                config.fallback.models = vec![other(config)];
                config.fallback.after = vec![ErrorKind::ContentFilter];
                config.fallback.after_text = true;
            },
        ),
        Bounds::new(
            "chat, models that the host chooses, runs made by the backend",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.crashes = 1;
                config.retry.attempts = 1;
                config.run_ids = RunIds::Host;
                config.fallback.models = vec![other(config)];
                config.fallback.choice = ModelChoice::Host;
            },
        ),
        Bounds::new(
            "chat, a summary before the request, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.texts = true;
                bounds.crashes = 1;
                bounds.history = true;
                // The conversation nearly fills it, and fits without a summary too.
                config.context_guard.window = Some(250);
                let summary = CompactionWay::Summary(Default::default());
                config.compaction = CompactionPolicy::with(summary);
            },
        ),
        Bounds::new(
            "chat, a summary before the request, another network",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.device = 1;
                bounds.history = true;
                bounds.failures = false;
                config.durability = Durability::None;
                config.device.network_change = NetworkChangePolicy::Reopen;
                config.context_guard.window = Some(250);
                let summary = CompactionWay::Summary(Default::default());
                config.compaction = CompactionPolicy::with(summary);
            },
        ),
        Bounds::new(
            "chat, one tool at a time, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Approval];
                bounds.crashes = 1;
                bounds.failures = false;
                bounds.extras.stops = true;
                config.limits.max_parallel_tools = 1;
            },
        ),
        Bounds::new(
            "chat, no hop after tools, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Approval];
                bounds.crashes = 1;
                bounds.failures = false;
                config.limits.continue_after_tools = false;
            },
        ),
        Bounds::new(
            "chat, circles and a budget of calls",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Unknown];
                bounds.failures = false;
                config.limits.repeats = Some(RepeatLimit {
                    tell_after: 1,
                    stop_after: 2,
                });
                config.limits.max_tool_rounds = 3;
                config.limits.max_tool_calls = Some(3);
                config.limits.at_limit = LimitPolicy::SumUp;
                config.durability = Durability::None;
            },
        ),
        Bounds::new(
            "chat, a hook at each moment, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Approval];
                bounds.calls = 1;
                bounds.texts = true;
                bounds.crashes = 1;
                bounds.failures = false;
                config.hooks = vec![HookSpec::new("h", HookMoment::ALL)];
            },
        ),
        Bounds::new(
            "agent, questions and a hook on its answers",
            Dialect::AgUi,
            |bounds, config| {
                bounds.calls = 1;
                bounds.questions = 1;
                bounds.texts = true;
                config.durability = Durability::None;
                config.hooks = vec![HookSpec::new("h", [HookMoment::AfterAnswer])];
            },
        ),
        Bounds::new(
            "chat, typed in words, a hook on its answers, typing during the turn",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.texts = true;
                bounds.steers = 1;
                bounds.failures = false;
                config.durability = Durability::None;
                config.output = Some(typed(OutputMode::Prompt));
                config.hooks = vec![HookSpec::new("h", [HookMoment::AfterAnswer])];
            },
        ),
        Bounds::new(
            "chat, typed by a final tool, one crash",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Final, Kind::Misfit];
                bounds.crashes = 1;
                bounds.failures = false;
                config.output = Some(typed(OutputMode::Tool));
            },
        ),
        Bounds::new(
            "chat, typed in words, typing during the turn",
            Dialect::OpenAiChat,
            |bounds, config| {
                bounds.calls = 1;
                bounds.texts = true;
                bounds.steers = 1;
                config.durability = Durability::None;
                config.output = Some(typed(OutputMode::Prompt));
            },
        ),
    ]
}
