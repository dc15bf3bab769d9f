//! Three clocks, apart: the model's silence, a tool, the turn.

use crate::world::{Reply, ToolReply, World, offer};
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    Deadline, EffectId, Failure, Input, Outcome, RunEvent, StateKind, TimerKey,
};
use stepwell_core::tool::{Tool, ToolFailureKind};
use stepwell_core::transcript::ToolCallStatus;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Call, Part, call, text};

fn world() -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        offer(
            config,
            Tool::new("brief", "Works briefly.").timeout(Duration::from_secs(2)),
        );
        config.timeouts.silence = Some(Duration::from_secs(20));
        config.timeouts.tool = Some(Duration::from_secs(60));
        config.timeouts.turn = None;
    })
}

fn timed_out(deadline: Deadline) -> Outcome {
    Outcome::Failed {
        failure: Failure::TimedOut { deadline },
    }
}

#[test]
fn a_model_that_does_not_answer_is_asked_again_and_then_given_up() {
    let mut world = world();
    world.fallback_reply = Some(Reply::Silent);
    let world = world.turn();
    assert_eq!(*world.outcome(), timed_out(Deadline::Silence));
    assert_eq!(world.seen.requests().len(), 4);
    let closes = world
        .seen
        .effect_names()
        .iter()
        .filter(|name| name.starts_with("close"))
        .count();
    assert_eq!(closes, 4, "each request that is given up is closed");
}

#[test]
fn a_model_that_falls_silent_in_mid_answer_ends_the_turn_with_the_text_kept() {
    let world = world()
        .reply(Reply::Stalled(vec![text("Half"), Part::Cut]))
        .turn();
    assert_eq!(*world.outcome(), timed_out(Deadline::Silence));
    assert_eq!(world.machine.transcript().text(), "Half");
    assert!(
        world
            .seen
            .effect_names()
            .contains(&"close open:0:0".to_owned())
    );
}

#[test]
fn an_answer_that_was_whole_when_the_model_fell_silent_is_a_success() {
    let world = world()
        .reply(Reply::Stalled(vec![text("All of it")]))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn tools_begin_a_short_time_after_the_end_of_the_answer_though_the_stream_is_left_open() {
    for dialect in [Dialect::OpenAiChat, Dialect::AgUi] {
        let mut world = crate::world::with(dialect, |config| {
            offer(config, Tool::new("work", "Works."));
            config.timeouts.closing = Some(Duration::from_secs(3));
        })
        .reply(Reply::Stalled(vec![call("c", "work", "{}")]))
        .streams([text("Done.")])
        .tool("work", |_| ToolReply::text("worked"));
        world.send("Hello");
        world.drive_until(|world| {
            world.scheduled.is_empty() && world.machine.timeout_reason() == Some(TimerKey::Closing)
        });
        let said = world.now;
        world.drive_until(|world| world.machine.state() != StateKind::Streaming);
        assert_eq!(world.now, said + 3_000, "{}", dialect.name());
        assert_eq!(world.machine.state(), StateKind::ExecutingTools);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        let closes = world.seen.effect_names();
        assert!(closes.contains(&"close open:0:0".to_owned()));
    }
}

#[test]
fn every_byte_starts_the_silence_anew() {
    let mut world = world().reply(Reply::Stalled(vec![text("Half"), Part::Cut]));
    world.send("Hello");
    world.drive_until(|world| !world.machine.transcript().text().is_empty());
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Silence));
    assert_eq!(
        world.machine.poll_timeout(),
        Some(Timestamp(world.now + 20_000))
    );
}

#[test]
fn a_tool_that_takes_too_long_is_stopped_and_the_model_told() {
    let world = world()
        .tool("work", |_| ToolReply::never())
        .streams([call("c", "work", "{}")])
        .streams([text("Too bad.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.result(), "the tool took too long and was stopped");
    assert_eq!(
        world.seen.statuses("c").last(),
        Some(&ToolCallStatus::Failed)
    );
    assert!(
        world
            .seen
            .effect_names()
            .contains(&"cancel tool:0:0".to_owned())
    );
}

#[test]
fn a_tools_own_limit_wins_and_its_siblings_go_on() {
    let world = world()
        .tool("brief", |_| ToolReply::text("too late").after(3_000))
        .tool("work", |_| ToolReply::text("in time").after(30_000))
        .streams([Part::Calls(vec![
            Call::new("a", "brief", "{}"),
            Call::new("b", "work", "{}"),
        ])])
        .streams([text("Done.")])
        .turn();
    let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["the tool took too long and was stopped", "in time"]);
}

#[test]
fn a_tools_time_is_not_the_models_silence() {
    let mut world = world()
        .tool("work", |_| ToolReply::never())
        .streams([call("c", "work", "{}")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let key = TimerKey::Tool(CallKey { hop: 0, index: 0 });
    assert_eq!(world.machine.timeout_reason(), Some(key));
    world.wait(30_000);
    world.input(Input::Timeout).expect("time passes");
    assert_eq!(world.machine.state(), StateKind::ExecutingTools);
}

#[test]
fn a_turn_that_takes_too_long_fails_in_every_state() {
    let answers: [(Reply, StateKind); 4] = [
        (Reply::Silent, StateKind::Opening),
        (
            Reply::Stalled(vec![text("x"), Part::Cut]),
            StateKind::Streaming,
        ),
        (Reply::Unreachable, StateKind::Waiting),
        (
            Reply::Complete(vec![call("c", "work", "{}")]),
            StateKind::ExecutingTools,
        ),
    ];
    for (answer, state) in answers {
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            config.timeouts.turn = Some(Duration::from_secs(1));
            config.retry.first_delay = Duration::from_secs(5);
        })
        .tool("work", |_| ToolReply::never())
        .reply(answer);
        world.send("Hello");
        world.drive_to(state);
        world.drive();
        assert_eq!(*world.outcome(), timed_out(Deadline::Turn), "{state:?}");
        assert_eq!(world.now, 1_001_000);
        world.assert_valid_history();
    }
}

/// A later turn's model would else ask for it again: the tool may have done its work.
#[test]
fn of_a_tool_that_runs_when_the_turn_fails_the_outcome_is_unknown() {
    for is_deferred in [false, true] {
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            config.timeouts.turn = Some(Duration::from_secs(60));
            config.timeouts.tool = None;
            config.limits.max_parallel_tools = 2;
        })
        .tool("work", |_| ToolReply::never())
        .streams([
            call("a", "work", "{}"),
            call("b", "work", "{\"n\":2}"),
            call("c", "work", "{\"n\":3}"),
        ]);
        world.send("Hello");
        world.drive_to(StateKind::ExecutingTools);
        if is_deferred {
            let effect = EffectId::Tool(CallKey { hop: 0, index: 0 });
            world
                .input(Input::ToolDeferred { effect })
                .expect("it is pending");
        }
        world.drive();
        assert_eq!(*world.outcome(), timed_out(Deadline::Turn));
        let kinds: Vec<_> = world
            .seen
            .events()
            .filter_map(|event| match event {
                RunEvent::ToolCallUpdate(update) => update.result.as_ref()?.as_ref().err(),
                _ => None,
            })
            .map(|failure| failure.kind)
            .collect();
        let unknown = ToolFailureKind::OutcomeUnknown;
        // The third waited for its turn, unless the first made room for it.
        let third = if is_deferred {
            unknown
        } else {
            ToolFailureKind::Cancelled
        };
        assert_eq!(kinds, [unknown, unknown, third]);
        world.assert_valid_history();
    }
}

#[test]
fn an_early_timeout_does_nothing() {
    let mut world = world().reply(Reply::Silent);
    world.send("Hello");
    let before = world.machine.snapshot();
    world.input(Input::Timeout).expect("time passes");
    assert_eq!(world.machine.snapshot(), before);
}

#[test]
fn a_clock_that_steps_back_is_held() {
    let mut world = world().reply(Reply::Silent);
    world.send("Hello");
    world.now = 5;
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    let opened = Input::Opened {
        effect,
        content_type: None,
    };
    world.input(opened).expect("it is pending");
    let silence = Timestamp(1_000_000 + 20_000);
    assert_eq!(world.machine.poll_timeout(), Some(silence));
}

#[test]
fn no_timer_is_left_when_a_turn_is_over() {
    let world = world().streams([text("Yes.")]).turn();
    assert_eq!(
        (world.machine.poll_timeout(), world.machine.timeout_reason()),
        (None, None)
    );
}
