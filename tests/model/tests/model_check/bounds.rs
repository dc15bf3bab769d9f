//! How far a search goes: what the run is configured to, and what may happen to it.

use crate::peer::Kind;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{AssistantMessage, Message};
use stepwell_core::provider;
use stepwell_core::run::model_check::Abstraction;
use stepwell_core::run::{
    BackgroundPolicy, CompactionPolicy, CompactionWay, Credentials, Durability, ErrorKind,
    FallbackModel, HookMoment, HookSpec, LimitPolicy, ModelChoice, NetworkChangePolicy,
    OfflinePolicy, RepeatLimit, Retry, RetryPolicy, RunConfig, RunIds,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};
use stepwell_core::transcript::Transcript;

/// One corner of the space.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub name: &'static str,
    pub config: Arc<RunConfig>,
    /// The most calls of a hop.
    pub calls: u8,
    /// The kinds of calls that the model asks for.
    pub kinds: Vec<Kind>,
    /// Whether the model sends text before it calls, also cut in the middle of a frame.
    pub texts: bool,
    /// Whether the provider's filter stops answers.
    pub filters: bool,
    /// Whether the network and the peer fail: refusals, broken connections, errors and rubbish in the stream.
    pub failures: bool,
    /// The number of times that the host dies.
    pub crashes: u8,
    /// Whether a host that restarts may report what it had shown and not stored.
    pub shows: bool,
    /// The number of times that the agent asks the user.
    pub questions: u8,
    /// The number of times that the network is lost or changes, and that the app goes to the background.
    pub device: u8,
    /// The number of times that the user types during the turn.
    pub steers: u8,
    /// Whether there is a conversation before the turn, which is too long.
    pub history: bool,
    /// The other actions of the user and the tools.
    pub extras: Extras,
    pub abstraction: Abstraction,
}

/// The actions of the user and the tools, besides the plain ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The user stops single calls.
    pub stops: bool,
    /// The user edits the arguments that they allow.
    pub edits: bool,
    /// Tools give their results later.
    pub deferrals: bool,
    /// Tools ask the user while they run.
    pub asks: bool,
}

impl Extras {
    pub const ALL: Self = Self {
        stops: true,
        edits: true,
        deferrals: true,
        asks: true,
    };
}

impl Bounds {
    pub fn new(
        name: &'static str,
        dialect: Dialect,
        change: impl FnOnce(&mut Self, &mut RunConfig),
    ) -> Self {
        let config = config(dialect);
        let mut bounds = Self {
            name,
            config: Arc::new(config.clone()),
            calls: 2,
            kinds: vec![Kind::Plain],
            texts: false,
            filters: false,
            failures: true,
            crashes: 0,
            shows: false,
            questions: 0,
            device: 0,
            steers: 0,
            history: false,
            extras: Extras::default(),
            abstraction: Abstraction::ALL,
        };
        let mut config = config;
        change(&mut bounds, &mut config);
        for tool in [
            Tool::new("work", "w"),
            Tool::new("look", "l").idempotent(),
            Tool::new("ask", "a").requires_approval(),
        ] {
            // Only those in use: a snapshot has a digest of them all.
            if bounds.kinds.iter().any(|kind| kind.tool() == tool.name()) {
                config.tools = config.tools.register(tool).expect("a good tool");
            }
        }
        bounds.config = Arc::new(config);
        bounds
    }

    /// The same corner, with this much left out of the canonical form.
    pub fn with(mut self, abstraction: Abstraction) -> Self {
        self.abstraction = abstraction;
        self
    }

    pub fn stores(&self) -> bool {
        self.config.durability != Durability::None
    }

    /// Returns how often an answer is asked for again of which a part was shown.
    pub fn retries_after_text(&self) -> u32 {
        let retry = &self.config.retry;
        let kinds = ErrorKind::ALL.iter();
        let kinds = kinds.filter(|kind| retry.retries_after_text(**kind));
        let attempts = kinds.map(|kind| retry.attempts_after(*kind) - 1);
        attempts.max().unwrap_or(0)
    }

    /// Returns the number of models.
    pub fn models(&self) -> u32 {
        u32::try_from(self.config.endpoints().count()).expect("a few")
    }

    /// Returns whether a model is asked for a summary of the conversation before a hop.
    pub fn summarizes(&self) -> bool {
        self.config.compaction.summary().is_some()
    }

    /// Returns the conversation before the turn.
    pub fn before(&self) -> Transcript {
        if !self.history {
            return Transcript::default();
        }
        let long = "x".repeat(400);
        Transcript::new(vec![
            Message::user("o1", long.clone()),
            Message::Assistant(AssistantMessage {
                id: "o2".into(),
                content: Some(long),
                ..AssistantMessage::default()
            }),
        ])
    }

    pub fn asks_for_keys(&self) -> bool {
        self.config.credentials == Credentials::Host
    }

    /// Returns whether a hook sees the tools' results.
    pub fn looks_at_results(&self) -> bool {
        let mut hooks = self.config.hooks.iter();
        hooks.any(|hook| hook.moments.contains(&HookMoment::AfterTool))
    }

    /// I9: the last hop that there may be.
    pub fn last_hop(&self) -> u32 {
        let limits = self.config.limits;
        let summing_up = u32::from(limits.at_limit == LimitPolicy::SumUp);
        let output = self.config.output.as_ref();
        let refused = output.map_or(0, OutputType::most_retries);
        // Each round of tools and the last answer may be asked for again.
        let again = self.config.retry.attempts_after(ErrorKind::OutputInvalid) - 1;
        let empty = again * (limits.max_tool_rounds + 1);
        limits.max_tool_rounds + summing_up + refused + empty
    }
}

fn config(dialect: Dialect) -> RunConfig {
    let name = if dialect == Dialect::AgUi {
        "ag-ui"
    } else {
        "openai-compatible"
    };
    let endpoint = provider::find(name)
        .expect("the table has it")
        .endpoint(None, "m", Some("http://localhost/v1"), Some("k".into()))
        .expect("nothing is missing");
    let mut config = RunConfig::new(endpoint);
    config.tells_moves = true;
    config.limits.max_tool_rounds = 1;
    config.limits.repeats = None;
    config.retry.jitter = 0.0;
    config.retry.attempts = 2;
    // An answer that is asked for again has a corner of its own.
    let row = Retry::after(ErrorKind::OutputInvalid).attempts(1);
    config.retry = config.retry.with(row);
    config.durability = Durability::Blocks { attempts: 2 };
    config.timeouts.turn = Some(Duration::from_secs(600));
    config.timeouts.approval = Some(Duration::from_secs(900));
    config.timeouts.deferred = Some(Duration::from_secs(9000));
    config
}

/// An answer that must be an object with a number.
fn typed(mode: OutputMode) -> OutputType {
    let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"]});
    let output = OutputType::new("Number", schema).expect("a type");
    output.mode(mode).retries(1).decoded_by_host(true)
}

/// The policy for retries of answers of which a part was shown.
fn after_text(retry: &RetryPolicy) -> RetryPolicy {
    let retry = RetryPolicy {
        attempts: 1,
        ..retry.clone()
    };
    [ErrorKind::Connection, ErrorKind::ServerError]
        .map(|kind| Retry::after(kind).attempts(2).after_text())
        .into_iter()
        .fold(retry, RetryPolicy::with)
}

/// Another model of the same provider.
fn other(config: &RunConfig) -> FallbackModel {
    let mut endpoint = config.endpoint.clone();
    "other".clone_into(&mut endpoint.model);
    endpoint.into()
}

/// Two calls in two hops, with everything in it.
pub fn small() -> Vec<Bounds> {
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

/// Bounds so small that even what the canonical form may leave out can be kept.
pub fn tiny() -> Vec<Bounds> {
    let tiny = |name, dialect, change: fn(&mut Bounds)| {
        Bounds::new(name, dialect, |bounds, _| {
            bounds.calls = 1;
            bounds.failures = false;
            change(bounds);
        })
    };
    let hook = Bounds::new("a hook on calls", Dialect::OpenAiChat, |bounds, config| {
        bounds.calls = 1;
        bounds.failures = false;
        config.hooks = vec![HookSpec::new("h", [HookMoment::BeforeTool])];
    });
    vec![
        tiny("an approval", Dialect::OpenAiChat, |bounds| {
            bounds.kinds = vec![Kind::Approval];
            bounds.extras = Extras::ALL;
        }),
        tiny("one crash", Dialect::OpenAiChat, |bounds| {
            bounds.crashes = 1;
        }),
        tiny("a bad network", Dialect::OpenAiChat, |bounds| {
            bounds.failures = true;
            bounds.texts = true;
        }),
        tiny("a question", Dialect::AgUi, |bounds| {
            bounds.questions = 1;
            bounds.crashes = 1;
        }),
        tiny("a tool that asks the user", Dialect::OpenAiChat, |bounds| {
            bounds.kinds = vec![Kind::Idempotent];
            bounds.crashes = 1;
            bounds.extras.asks = true;
        }),
        tiny("two calls", Dialect::OpenAiChat, |bounds| {
            bounds.calls = 2;
        }),
        hook,
    ]
}

/// Three calls in three hops, the smaller spaces first.
pub fn large() -> Vec<Bounds> {
    let whole = |name, dialect, change: fn(&mut Bounds, &mut RunConfig)| {
        Bounds::new(name, dialect, |bounds, config| {
            bounds.calls = 3;
            config.limits.max_tool_rounds = 2;
            change(bounds, config);
        })
    };
    vec![
        whole(
            "3 × 3, an agent's questions",
            Dialect::AgUi,
            |bounds, config| {
                bounds.kinds = vec![Kind::Plain, Kind::Answered];
                bounds.questions = 1;
                config.durability = Durability::None;
            },
        ),
        whole(
            "3 × 3, tools and approvals",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Approval];
            },
        ),
        whole(
            "3 × 3, a tool, one crash",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain];
                bounds.texts = true;
                bounds.crashes = 1;
            },
        ),
        whole(
            "3 × 3, every kind of tool, one crash",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Idempotent, Kind::Approval, Kind::Unknown];
                bounds.crashes = 1;
            },
        ),
        whole(
            "3 × 3, every kind of tool, two crashes",
            Dialect::OpenAiChat,
            |bounds, _| {
                bounds.kinds = vec![Kind::Plain, Kind::Idempotent, Kind::Approval, Kind::Unknown];
                bounds.texts = true;
                bounds.crashes = 2;
                bounds.extras = Extras::ALL;
            },
        ),
    ]
}
