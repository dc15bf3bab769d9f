//! The device under a run: the app is suspended or killed, the network goes and changes.

use crate::interrupts::asks;
use crate::misuse;
use crate::wire::{Say, call, text};
use crate::world::{Answer, Work, World, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    BackgroundPolicy, Deadline, EffectId, Failure, Input, KilledPolicy, NetworkChangePolicy,
    OfflinePolicy, Outcome, Refusal, RunConfig, RunEvent, RunIds, RunMachine, StateKind, TimerKey,
};
use stepwell_core::tool::Tool;
use stepwell_core::{CallKey, Timestamp};

const DEVICE: [Input<'static>; 4] = [
    Input::EnteredBackground,
    Input::EnteredForeground,
    Input::NetworkLost,
    Input::NetworkAvailable,
];

fn device(world: &mut World, input: Input<'_>) {
    world.input(input).expect("devices say this at any time");
}

fn worlds(change: impl Fn(&mut RunConfig)) -> Vec<(StateKind, World)> {
    let mut worlds = misuse::worlds_with(&change);
    let mut asking = World::with(Dialect::AgUi, change).says([text("Which?"), asks(&["a"])]);
    asking.send("Hello");
    asking.drive_to(StateKind::Interrupted);
    worlds.push((StateKind::Interrupted, asking));
    worlds
}

fn world(change: impl FnOnce(&mut RunConfig)) -> World {
    World::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.timeouts.silence = Some(Duration::from_secs(20));
        config.timeouts.tool = Some(Duration::from_secs(20));
        config.retry.first_delay = Duration::from_secs(20);
        config.retry.max_delay = Duration::from_secs(20);
        change(config);
    })
}

fn waits(world: &World) -> usize {
    let waits = |event: &&RunEvent| matches!(event, RunEvent::WaitingForNetwork { .. });
    world.seen.events().filter(waits).count()
}

fn revive(world: &mut World) {
    let snapshot = world.machine.snapshot();
    let machine = RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now));
    world.take_over(machine.expect("readable"));
}

#[test]
fn what_a_device_says_is_taken_in_every_state_and_harmless_when_repeated() {
    for input in DEVICE {
        for (state, mut world) in worlds(|_| {}) {
            device(&mut world, input.clone());
            let (before, outputs) = (world.machine.snapshot(), world.seen.outputs.len());
            device(&mut world, input.clone());
            assert_eq!(world.machine.snapshot(), before, "{state}: {input:?}");
            assert_eq!(world.seen.outputs.len(), outputs, "{state}: {input:?}");
            assert_eq!(world.machine.state(), state, "{state}: {input:?}");
        }
    }
}

#[test]
fn what_a_device_says_after_the_end_changes_nothing() {
    for input in DEVICE {
        let mut world = World::chat().says([text("Yes.")]).turn();
        let before = world.machine.snapshot();
        device(&mut world, input);
        assert_eq!(world.machine.snapshot(), before);
    }
}

#[test]
fn in_the_background_the_clocks_stop_and_run_on_with_what_was_left() {
    let tool = TimerKey::Tool(CallKey { hop: 0, index: 0 });
    let cases = [
        (Answer::Never, StateKind::Opening, TimerKey::Silence),
        (
            Answer::Stalls(vec![text("x"), Say::Cut]),
            StateKind::Streaming,
            TimerKey::Silence,
        ),
        (Answer::Unreachable, StateKind::Waiting, TimerKey::Retry),
        (
            Answer::Says(vec![call("c", "work", "{}")]),
            StateKind::ExecutingTools,
            tool,
        ),
    ];
    for (answer, state, key) in cases {
        for turn in [None, Some(Duration::from_secs(15))] {
            let mut world = world(|config| config.timeouts.turn = turn)
                .tool("work", |_| Work::never())
                .answers(answer.clone());
            world.send("Hello");
            world.drive_to(state);
            world.agenda.clear();
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
    let mut world = world(|_| {}).answers(Answer::Never);
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
        world(|config| config.timeouts.turn = Some(Duration::from_secs(5))).answers(Answer::Never);
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
        .tool("work", |_| Work::gives("ok"))
        .says([call("c", "work", "{}")])
        .says([text("Done.")]);
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
        .answers(Answer::Stalls(vec![text("x"), Say::Cut]));
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
                assert!(world.hands.is_empty());
                world.assert_legal();
            }
        }
    }
}

#[test]
fn a_new_host_is_in_the_foreground_and_has_a_network_until_it_says_otherwise() {
    let mut world = world(|_| {})
        .answers(Answer::Unreachable)
        .says([text("Yes.")]);
    world.send("Hello");
    device(&mut world, Input::NetworkLost);
    device(&mut world, Input::EnteredBackground);
    world.drive_to(StateKind::Waiting);
    revive(&mut world);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_request_that_fails_without_a_network_waits_for_it_and_is_no_try() {
    let mut world = world(|_| {});
    for _ in 0..7 {
        world = world.answers(Answer::Unreachable);
    }
    let mut world = world.says([text("Yes.")]);
    world.send("Hello");
    for round in 1..=7 {
        device(&mut world, Input::NetworkLost);
        world.drive_to(StateKind::Waiting);
        assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Network));
        assert_eq!(waits(&world), round);
        world.wait(60_000);
        device(&mut world, Input::NetworkAvailable);
        assert_eq!(world.machine.state(), StateKind::Opening);
        assert_eq!(world.seen.requests().len(), round + 1, "at once");
    }
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let names = world.seen.effect_names();
    let expected: Vec<_> = (0..8)
        .map(|attempt| format!("open open:0:{attempt}"))
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn tries_that_failed_with_a_network_still_count() {
    let mut world = world(|_| {});
    world.otherwise = Some(Answer::Unreachable);
    world.send("Hello");
    device(&mut world, Input::NetworkLost);
    world.drive_to(StateKind::Waiting);
    device(&mut world, Input::NetworkAvailable);
    world.drive();
    assert!(matches!(world.outcome(), Outcome::Failed { .. }));
    assert_eq!(
        world.seen.requests().len(),
        5,
        "four, and the one that was none"
    );
    let pauses = world
        .seen
        .events()
        .filter(|event| matches!(event, RunEvent::Retrying { .. }));
    assert_eq!(pauses.count(), 3);
}

#[test]
fn without_a_network_no_request_goes_out() {
    let mut world = world(|_| {}).says([text("Yes.")]);
    device(&mut world, Input::NetworkLost);
    world.send("Hello");
    assert_eq!(world.machine.state(), StateKind::Opening);
    assert_eq!((world.seen.requests().len(), waits(&world)), (0, 1));
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Network));
    world.wait(60_000);
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Silence));
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn the_next_hop_waits_for_the_network_with_its_results_kept() {
    for run_ids in [RunIds::Derived, RunIds::Host] {
        let mut world = world(|config| config.run_ids = run_ids)
            .tool("work", |_| Work::gives("ok"))
            .says([call("c", "work", "{}")])
            .says([text("Done.")]);
        world.runs.push_back("backend-run".into());
        world.send("Hello");
        world.drive_to(StateKind::ExecutingTools);
        device(&mut world, Input::NetworkLost);
        world.drive_to(StateKind::Opening);
        assert!(world.hands.is_empty(), "neither a run nor a stream");
        assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Network));
        device(&mut world, Input::NetworkAvailable);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(world.result(), "ok");
    }
}

#[test]
fn the_wait_for_the_network_has_an_end() {
    let up_to = Duration::from_secs(30);
    for fails_first in [false, true] {
        let mut world = world(|config| config.device.offline = OfflinePolicy::Wait { up_to })
            .answers(Answer::Unreachable);
        if fails_first {
            world.send("Hello");
            device(&mut world, Input::NetworkLost);
            world.drive_to(StateKind::Waiting);
        } else {
            device(&mut world, Input::NetworkLost);
            world.send("Hello");
        }
        let begin = world.now;
        world.drive();
        assert_eq!(world.now - begin, 30_000);
        let failure = Failure::Connection {
            message: "there is no network".into(),
        };
        assert_eq!(*world.outcome(), Outcome::Failed { failure });
        assert_eq!(world.machine.poll_timeout(), None);
    }
}

#[test]
fn a_pause_before_a_try_becomes_a_wait_for_the_network() {
    let mut world = world(|_| {})
        .answers(Answer::Unreachable)
        .says([text("Yes.")]);
    world.send("Hello");
    world.drive_to(StateKind::Waiting);
    device(&mut world, Input::NetworkLost);
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Network));
    world.wait(1_000);
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(world.machine.state(), StateKind::Opening);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_wait_that_the_provider_asked_for_is_kept_to_when_the_network_is_back() {
    let mut world = world(|_| {})
        .answers(Answer::Refuses(Refusal {
            status: 429,
            retry_after: Some(Duration::from_secs(60)),
            body: Vec::new(),
        }))
        .says([text("Yes.")]);
    world.send("Hello");
    world.drive_to(StateKind::Waiting);
    let wake = world.now + 60_000;
    device(&mut world, Input::NetworkLost);
    world.wait(1_000);
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(world.machine.state(), StateKind::Waiting);
    assert_eq!(world.machine.poll_timeout(), Some(Timestamp(wake)));
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_network_that_was_never_lost_does_not_cut_a_pause_short() {
    let mut world = world(|_| {}).answers(Answer::Unreachable);
    world.send("Hello");
    world.drive_to(StateKind::Waiting);
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(world.machine.state(), StateKind::Waiting);
}

#[test]
fn an_open_stream_is_left_alone_until_it_is_lost() {
    let mut world = world(|_| {}).says([text("All of it.")]);
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    device(&mut world, Input::NetworkLost);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_stream_that_showed_nothing_and_is_lost_with_the_network_is_no_try() {
    let nothing = || vec![Say::Heartbeat, Say::Cut];
    for answer in [Answer::Breaks(nothing()), Answer::Stalls(nothing())] {
        let mut world = world(|config| config.retry.attempts = 1)
            .answers(answer)
            .says([text("Yes.")]);
        world.send("Hello");
        world.drive_to(StateKind::Streaming);
        device(&mut world, Input::NetworkLost);
        world.drive_to(StateKind::Waiting);
        device(&mut world, Input::NetworkAvailable);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
    }
}

#[test]
fn the_policy_may_be_to_fail_without_a_network() {
    let failing =
        || world(|config| config.device.offline = OfflinePolicy::Fail).answers(Answer::Unreachable);
    let mut sent = failing();
    device(&mut sent, Input::NetworkLost);
    sent.send("Hello");
    sent.drive();
    let mut pausing = failing();
    pausing.send("Hello");
    pausing.drive_to(StateKind::Waiting);
    device(&mut pausing, Input::NetworkLost);
    for world in [sent, pausing] {
        let failed = matches!(
            world.outcome(),
            Outcome::Failed {
                failure: Failure::Connection { .. }
            }
        );
        assert!(failed, "{:?}", world.outcome());
        assert_eq!((world.seen.requests().len(), waits(&world)), (1, 0));
    }
}

#[test]
fn a_wait_for_the_network_is_cancelled_and_restored_like_any_state() {
    for fails_first in [false, true] {
        let mut world = world(|_| {}).answers(Answer::Unreachable);
        world.restores = true;
        if fails_first {
            world.send("Hello");
            device(&mut world, Input::NetworkLost);
            world.drive_to(StateKind::Waiting);
        } else {
            device(&mut world, Input::NetworkLost);
            world.send("Hello");
        }
        world.cancel();
        assert_eq!(*world.outcome(), Outcome::Cancelled);
        assert_eq!(world.machine.poll_timeout(), None);
        world.drive();
    }
}

fn changing() -> World {
    world(|config| config.device.network_change = NetworkChangePolicy::Reopen)
}

#[test]
fn on_another_network_a_request_without_an_answer_is_sent_again_and_is_no_try() {
    let mut world = changing();
    for _ in 0..6 {
        world = world.answers(Answer::Never);
    }
    let mut world = world.says([text("Yes.")]);
    world.send("Hello");
    for _ in 0..6 {
        device(&mut world, Input::NetworkAvailable);
    }
    let names = world.seen.effect_names();
    assert_eq!(
        names[..3],
        ["open open:0:0", "close open:0:0", "open open:0:1"]
    );
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn on_another_network_a_stream_that_showed_nothing_is_opened_again() {
    let mut world = changing()
        .answers(Answer::Stalls(vec![Say::Heartbeat, Say::Cut]))
        .says([text("Yes.")]);
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(
        world.seen.effect_names(),
        ["open open:0:0", "close open:0:0", "open open:0:1"]
    );
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn on_another_network_a_stream_that_cannot_be_resumed_is_kept() {
    let mut world = changing().says([text("All of it.")]);
    world.send("Hello");
    world.drive_until(|world| !world.machine.conversation().text().is_empty());
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(world.machine.state(), StateKind::Streaming);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn the_default_is_to_keep_what_is_under_way() {
    let mut world = world(|_| {}).says([text("Yes.")]);
    world.send("Hello");
    device(&mut world, Input::NetworkAvailable);
    world.drive_to(StateKind::Streaming);
    device(&mut world, Input::NetworkAvailable);
    world.drive();
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn the_policy_may_be_that_the_turn_ends_with_the_app() {
    for (state, mut world) in worlds(|config| config.device.killed = KilledPolicy::Cancel) {
        let before = world.seen.effects().count();
        let outcome = world.machine.outcome().cloned();
        revive(&mut world);
        match state {
            StateKind::Idle => assert_eq!(world.machine.state(), StateKind::Idle),
            StateKind::Completed => assert_eq!(world.machine.outcome().cloned(), outcome),
            _ => {
                assert_eq!(*world.outcome(), Outcome::Cancelled, "{state}");
                assert_eq!(world.seen.ends(), 1);
                world.assert_legal();
            }
        }
        assert_eq!(
            world.seen.effects().count(),
            before,
            "a new host has nothing that could be stopped"
        );
    }
}
