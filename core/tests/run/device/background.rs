//! The app is in the background: the clocks stand still, unless the policy is another.

use super::{device, world, worlds};
use crate::world::{Reply, ToolReply, offer};
use std::time::Duration;
use stepwell_core::run::{
    BackgroundPolicy, Deadline, EffectId, Failure, Input, Outcome, StateKind, TimerKey,
};
use stepwell_core::tool::Tool;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Part, call, text};

#[test]
fn in_the_background_the_clocks_stop_and_run_on_with_what_was_left() {
    let tool = TimerKey::Tool(CallKey { hop: 0, index: 0 });
    let cases = [
        (Reply::Silent, StateKind::Opening, TimerKey::Silence),
        (
            Reply::Stalled(vec![text("x"), Part::Cut]),
            StateKind::Streaming,
            TimerKey::Silence,
        ),
        (Reply::Unreachable, StateKind::Waiting, TimerKey::Retry),
        (
            Reply::Complete(vec![call("c", "work", "{}")]),
            StateKind::ExecutingTools,
            tool,
        ),
    ];
    for (answer, state, key) in cases {
        for turn in [None, Some(Duration::from_secs(15))] {
            let mut world = world(|config| config.timeouts.turn = turn)
                .tool("work", |_| ToolReply::never())
                .reply(answer.clone());
            world.send("Hello");
            world.drive_to(state);
            world.scheduled.clear();
            let left = world.machine.poll_timeout().expect("it has one").0 - world.now;
            world.wait(5_000);
            device(&mut world, Input::EnteredBackground);
            assert_eq!(world.machine.poll_timeout(), None, "{state}");
            // The process is frozen for a day, and then is woken before it is told that it is in the foreground.
            world.wait(86_400_000);
            // Said twice, the clocks stand where they stood.
            device(&mut world, Input::EnteredBackground);
            world.input(Input::Timeout).expect("time passes");
            assert_eq!(world.machine.state(), state);
            device(&mut world, Input::EnteredForeground);
            let key = turn.map_or(key, |_| TimerKey::Turn);
            assert_eq!(world.machine.timeout_reason(), Some(key), "{state}");
            let rest = Timestamp(world.now + left - 5_000);
            assert_eq!(world.machine.poll_timeout(), Some(rest), "{state}");
        }
    }
}

#[test]
fn what_comes_in_the_background_starts_the_silence_anew() {
    let mut world = world(|_| {}).reply(Reply::Silent);
    world.send("Hello");
    world.wait(5_000);
    device(&mut world, Input::EnteredBackground);
    world.wait(60_000);
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    let opened = Input::Opened {
        effect,
        content_type: None,
    };
    world.input(opened).expect("it is pending");
    assert_eq!(world.machine.poll_timeout(), None);
    world.wait(60_000);
    device(&mut world, Input::EnteredForeground);
    let silence = Timestamp(world.now + 20_000);
    assert_eq!(world.machine.poll_timeout(), Some(silence));
}

#[test]
fn a_turn_that_begins_in_the_background_has_all_its_time_in_the_foreground() {
    let mut world =
        world(|config| config.timeouts.turn = Some(Duration::from_secs(5))).reply(Reply::Silent);
    device(&mut world, Input::EnteredBackground);
    world.wait(60_000);
    world.send("Hello");
    world.wait(60_000);
    device(&mut world, Input::EnteredForeground);
    assert_eq!(
        world.machine.poll_timeout(),
        Some(Timestamp(world.now + 5_000))
    );
}

#[test]
fn a_turn_goes_through_the_background_and_is_restored_there() {
    let mut world = world(|_| {})
        .tool("work", |_| ToolReply::text("ok"))
        .streams([call("c", "work", "{}")])
        .streams([text("Done.")]);
    world.restores = true;
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    device(&mut world, Input::EnteredBackground);
    world.drive();
    assert_eq!(
        *world.outcome(),
        Outcome::Success,
        "it works on while it may"
    );
}

#[test]
fn a_host_that_works_in_the_background_keeps_its_clocks() {
    let mut world = world(|config| config.device.background = BackgroundPolicy::Continue)
        .reply(Reply::Stalled(vec![text("x"), Part::Cut]));
    world.send("Hello");
    device(&mut world, Input::EnteredBackground);
    world.drive();
    let failure = Failure::TimedOut {
        deadline: Deadline::Silence,
    };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
}

#[test]
fn the_policy_may_be_to_cancel_in_the_background() {
    for (state, mut world) in worlds(|config| config.device.background = BackgroundPolicy::Cancel) {
        let before = world.machine.outcome().cloned();
        device(&mut world, Input::EnteredBackground);
        match state {
            StateKind::Idle => assert_eq!(world.machine.state(), StateKind::Idle),
            StateKind::Completed => assert_eq!(world.machine.outcome().cloned(), before),
            _ => {
                assert_eq!(*world.outcome(), Outcome::Cancelled);
                assert!(world.given.is_empty());
                world.assert_valid_history();
            }
        }
    }
}

#[test]
fn the_time_to_allow_a_call_is_the_users_and_runs_on_in_the_background() {
    let call_key = CallKey { hop: 0, index: 0 };
    let mut world = world(|config| {
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        config.timeouts.approval = Some(Duration::from_secs(60));
    })
    .streams([call("c", "ask", "{}")])
    .streams([text("Then not.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let until = Timestamp(world.now + 60_000);
    device(&mut world, Input::EnteredBackground);
    assert_eq!(world.machine.poll_timeout(), Some(until));
    let reason = world.machine.timeout_reason();
    assert_eq!(reason, Some(TimerKey::Approval(call_key)));
    world.wait(20_000);
    device(&mut world, Input::EnteredForeground);
    assert_eq!(world.machine.poll_timeout(), Some(until));
    world.drive();
    assert!(world.result().contains("did not answer in time"));
}
