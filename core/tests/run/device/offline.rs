//! The network is gone: requests wait for it, and are no try.

use super::{device, waits, world};
use crate::world::{Reply, ToolReply};
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::run::{
    Failure, Input, OfflinePolicy, Outcome, Refusal, RunEvent, RunIds, StateKind, TimerKey,
};
use stepwell_testing::reply::{Part, call, text};

#[test]
fn a_request_that_fails_without_a_network_waits_for_it_and_is_no_try() {
    let mut world = world(|_| {});
    for _ in 0..7 {
        world = world.reply(Reply::Unreachable);
    }
    let mut world = world.streams([text("Yes.")]);
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
    world.fallback_reply = Some(Reply::Unreachable);
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
    let mut world = world(|_| {}).streams([text("Yes.")]);
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
            .tool("work", |_| ToolReply::text("ok"))
            .streams([call("c", "work", "{}")])
            .streams([text("Done.")]);
        world.runs.push_back("backend-run".into());
        world.send("Hello");
        world.drive_to(StateKind::ExecutingTools);
        device(&mut world, Input::NetworkLost);
        world.drive_to(StateKind::Opening);
        assert!(world.given.is_empty(), "neither a run nor a stream");
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
            .reply(Reply::Unreachable);
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
        .reply(Reply::Unreachable)
        .streams([text("Yes.")]);
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
        .reply(Reply::Refused(Refusal {
            status: 429,
            retry_after: Some(Duration::from_secs(60)),
            body: Vec::new(),
        }))
        .streams([text("Yes.")]);
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
fn a_wait_that_the_provider_asked_for_may_be_over_when_the_network_is_back() {
    for late in [0, 1_000] {
        let mut world = world(|_| {})
            .reply(Reply::Refused(Refusal {
                status: 429,
                retry_after: Some(Duration::from_secs(60)),
                body: Vec::new(),
            }))
            .streams([text("Yes.")]);
        world.send("Hello");
        world.drive_to(StateKind::Waiting);
        device(&mut world, Input::NetworkLost);
        world.wait(60_000 + late);
        device(&mut world, Input::NetworkAvailable);
        assert_eq!(world.machine.state(), StateKind::Opening, "at once");
    }
}

#[test]
fn a_network_that_was_never_lost_does_not_cut_a_pause_short() {
    let mut world = world(|_| {}).reply(Reply::Unreachable);
    world.send("Hello");
    world.drive_to(StateKind::Waiting);
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(world.machine.state(), StateKind::Waiting);
}

#[test]
fn an_open_stream_is_left_alone_until_it_is_lost() {
    let mut world = world(|_| {}).streams([text("All of it.")]);
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    device(&mut world, Input::NetworkLost);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_stream_that_showed_nothing_and_is_lost_with_the_network_is_no_try() {
    let nothing = || vec![Part::Heartbeat, Part::Cut];
    for answer in [Reply::Broken(nothing()), Reply::Stalled(nothing())] {
        let mut world = world(|config| config.retry.attempts = 1)
            .reply(answer)
            .streams([text("Yes.")]);
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
        || world(|config| config.device.offline = OfflinePolicy::Fail).reply(Reply::Unreachable);
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
        let mut world = world(|_| {}).reply(Reply::Unreachable);
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

#[test]
fn a_refusal_that_comes_all_the_same_is_a_try_with_a_pause_of_its_own() {
    let mut world = world(|_| {})
        .reply(Reply::Refused(Refusal {
            status: 503,
            ..Refusal::default()
        }))
        .streams([text("Yes.")]);
    world.send("Hello");
    device(&mut world, Input::NetworkLost);
    world.drive_to(StateKind::Waiting);
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Retry));
    assert_eq!(waits(&world), 0);
    // The next one waits for the network.
    world.drive_to(StateKind::Opening);
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Network));
    device(&mut world, Input::NetworkAvailable);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}
