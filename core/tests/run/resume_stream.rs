//! A stream that broke off is resumed, where the backend can.

use crate::turn::BOTH;
use crate::world::{Ending, Reply, ToolReply, World, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::dialect::{Dialect, Resumption};
use stepwell_core::run::{
    Deadline, Effect, EffectId, Failure, Input, NetworkChangePolicy, Outcome, Refusal, RunConfig,
    RunEvent, RunMachine, StateKind,
};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, call, numbered, text};

fn resuming(dialect: Dialect, change: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        config.endpoint.quirks.resumption = Resumption::LastEventId;
        config.timeouts.silence = Some(Duration::from_secs(20));
        change(config);
    })
    .tool("work", |_| ToolReply::text("ok"))
}

fn says() -> Vec<Part> {
    vec![
        text("Let me see what there is."),
        call("c", "work", "{\"a\":1}"),
    ]
}

/// A stream of the frames from `from` on and before `to`, and then this.
fn part(frames: &[String], from: usize, to: usize, then: Ending) -> Reply {
    Reply::Bytes(frames[from..to].concat().into_bytes(), then)
}

/// The `Last-Event-ID` of each request.
fn last_ids(world: &World) -> Vec<Option<String>> {
    let header = |effect: &Effect| match effect {
        Effect::OpenStream { request } => Some(
            request
                .headers
                .iter()
                .find(|(name, _)| name == "last-event-id")
                .map(|(_, id)| id.clone()),
        ),
        _ => None,
    };
    world
        .seen
        .effects()
        .filter_map(|(_, effect)| header(effect))
        .collect()
}

fn resumed(world: &World) -> Vec<(u32, u32)> {
    let resumed = world.seen.events().filter_map(|event| match event {
        RunEvent::StreamResumed { hop, attempt } => Some((*hop, *attempt)),
        _ => None,
    });
    resumed.collect()
}

fn revive(world: &mut World) {
    let snapshot = world.machine.snapshot();
    let machine = RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now));
    world.take_over(machine.expect("readable"));
}

/// The turn as it is without a break.
fn unbroken(dialect: Dialect) -> World {
    resuming(dialect, |_| {})
        .streams(says())
        .streams([text("Done.")])
        .turn()
}

#[test]
fn a_resumed_request_asks_again_what_was_asked_and_not_with_half_an_answer() {
    let mut compared = 0;
    for dialect in BOTH {
        let frames = numbered(dialect, 0, &says());
        for cut in 1..frames.len() {
            let world = resuming(dialect, |_| {})
                .reply(part(&frames, 0, cut, Ending::Broken))
                .reply(part(&frames, cut, frames.len(), Ending::Complete))
                .streams([text("Done.")])
                .turn();
            let requests = world.seen.requests();
            if requests.len() == 3 && !resumed(&world).is_empty() {
                assert_eq!(requests[1], requests[0], "{dialect:?} cut at {cut}");
                compared += 1;
                assert_ne!(requests[2], requests[0]);
            }
        }
    }
    assert!(compared > 5);
}

#[test]
fn a_resumed_request_of_a_later_hop_asks_with_the_results_again() {
    for dialect in BOTH {
        let frames = numbered(dialect, 1, &[text("Done, all of it.")]);
        let world = resuming(dialect, |_| {})
            .streams(says())
            .reply(part(&frames, 0, 2, Ending::Broken))
            .reply(part(&frames, 2, frames.len(), Ending::Complete))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        let requests = world.seen.requests();
        assert_eq!(requests.len(), 3);
        assert_eq!(requests[2], requests[1], "{dialect:?}");
    }
}

#[test]
fn a_stream_that_breaks_anywhere_goes_on_as_if_it_had_not() {
    for dialect in BOTH {
        let whole = unbroken(dialect);
        let frames = numbered(dialect, 0, &says());
        // At the last frame everything that counts was said.
        for at in 1..frames.len() - 2 {
            for half in [0, 11] {
                let mut bytes = frames[..at].concat();
                bytes.push_str(&frames[at][..half]);
                let mut world = resuming(dialect, |_| {})
                    .reply(Reply::Bytes(bytes.into_bytes(), Ending::Broken))
                    .reply(part(&frames, at, frames.len(), Ending::Complete))
                    .streams([text("Done.")]);
                world.restores = true;
                let world = world.turn();
                assert_eq!(*world.outcome(), Outcome::Success, "{dialect:?} {at}");
                assert_eq!(world.messages(), whole.messages(), "{dialect:?} {at}");
                assert_eq!(
                    last_ids(&world),
                    [None, Some(at.to_string()), None],
                    "{dialect:?}"
                );
                assert_eq!(resumed(&world), [(0, 1)]);
                assert_eq!(world.seen.streamed_text(), whole.seen.streamed_text());
                assert_eq!(world.machine.usage(), whole.machine.usage());
            }
        }
    }
}

#[test]
fn the_second_attempt_is_announced_before_what_it_brings() {
    let frames = numbered(Dialect::AgUi, 0, &[text("One two three.")]);
    let world = resuming(Dialect::AgUi, |_| {})
        .reply(part(&frames, 0, 3, Ending::Broken))
        .reply(part(&frames, 3, frames.len(), Ending::Complete))
        .turn();
    let events: Vec<_> = world.seen.events().collect();
    let at = |wanted: &dyn Fn(&RunEvent) -> bool| events.iter().position(|event| wanted(event));
    let retrying = at(&|event| matches!(event, RunEvent::Retrying { .. }));
    let again = at(&|event| matches!(event, RunEvent::StreamResumed { .. }));
    let texts = events.iter().rposition(|event| {
        matches!(
            event,
            RunEvent::AgUi(stepwell_core::event::Event::TextMessageContent(_))
        )
    });
    assert!(retrying < again && again < texts);
    assert!(retrying.is_some());
}

#[test]
fn silence_and_an_early_end_are_resumed_too() {
    let frames = numbered(Dialect::AgUi, 0, &[text("One two three.")]);
    for then in [Ending::Stalled, Ending::Complete] {
        let world = resuming(Dialect::AgUi, |_| {})
            .reply(part(&frames, 0, 3, then))
            .reply(part(&frames, 3, frames.len(), Ending::Complete))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{then:?}");
        assert_eq!(world.machine.transcript().text(), "One two three.");
    }
}

#[test]
fn an_early_end_that_stays_one_is_a_truncated_answer() {
    let frames = numbered(Dialect::AgUi, 0, &[text("One two three.")]);
    let mut world = resuming(Dialect::AgUi, |_| {}).reply(part(&frames, 0, 3, Ending::Complete));
    world.fallback_reply = Some(Reply::Bytes(Vec::new(), Ending::Complete));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Truncated);
    assert_eq!(world.seen.requests().len(), 4);
    assert_eq!(world.machine.transcript().text(), "One two");
}

#[test]
fn refusals_and_failures_on_the_way_lose_nothing() {
    let frames = numbered(Dialect::AgUi, 0, &says());
    let mut world = resuming(Dialect::AgUi, |_| {})
        .reply(part(&frames, 0, 3, Ending::Broken))
        .reply(Reply::Refused(Refusal {
            status: 503,
            ..Refusal::default()
        }))
        .reply(Reply::Unreachable)
        .reply(part(&frames, 3, frames.len(), Ending::Complete))
        .streams([text("Done.")]);
    world.restores = true;
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.messages(), unbroken(Dialect::AgUi).messages());
    let three = Some("3".to_owned());
    assert_eq!(
        last_ids(&world),
        [None, three.clone(), three.clone(), three, None]
    );
    assert_eq!(resumed(&world), [(0, 3)]);
}

#[test]
fn a_second_break_goes_on_after_the_last_event_of_both() {
    let frames = numbered(Dialect::AgUi, 0, &says());
    let world = resuming(Dialect::AgUi, |_| {})
        .reply(part(&frames, 0, 3, Ending::Broken))
        // Nothing new: the id of the first attempt still counts.
        .reply(part(&frames, 3, 3, Ending::Broken))
        .reply(part(&frames, 3, 5, Ending::Broken))
        .reply(part(&frames, 5, frames.len(), Ending::Complete))
        .streams([text("Done.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let ids: Vec<_> = last_ids(&world).into_iter().flatten().collect();
    assert_eq!(ids, ["3", "3", "5"]);
    assert_eq!(world.messages(), unbroken(Dialect::AgUi).messages());
}

#[test]
fn tries_are_bounded_and_what_was_shown_is_kept_and_counted_once() {
    let given_up: [(Reply, usize); 3] = [
        (Reply::Unreachable, 4),
        (Reply::Silent, 4),
        (
            Reply::Refused(Refusal {
                status: 404,
                ..Refusal::default()
            }),
            2,
        ),
    ];
    for (answer, requests) in given_up {
        let frames = numbered(Dialect::AgUi, 0, &says());
        let mut world = resuming(Dialect::AgUi, |config| {
            config.durability = stepwell_core::run::Durability::Blocks { attempts: 3 };
        })
        .reply(part(&frames, 0, frames.len() - 2, Ending::Broken));
        world.fallback_reply = Some(answer);
        let world = world.turn();
        assert!(matches!(world.outcome(), Outcome::Failed { .. }));
        assert_eq!(world.seen.requests().len(), requests);
        assert_eq!(
            world.machine.transcript().text(),
            "Let me see what there is."
        );
        assert!(world.seen.invocations().is_empty());
        assert!(world.result().contains("broke off"));
        assert_eq!(
            crate::durability::kinds(&world),
            ["text", "tool_use", "tool_result"]
        );
        world.assert_valid_history();
    }
}

#[test]
fn cancelled_on_the_way_what_was_shown_is_kept() {
    for state in [StateKind::Waiting, StateKind::Opening] {
        let frames = numbered(Dialect::AgUi, 0, &says());
        let mut world = resuming(Dialect::AgUi, |config| {
            config.durability = stepwell_core::run::Durability::Blocks { attempts: 3 };
        })
        .reply(part(&frames, 0, frames.len() - 2, Ending::Broken))
        .reply(Reply::Silent);
        world.send("Hello");
        world.drive_to(StateKind::Waiting);
        world.drive_to(state);
        world.cancel();
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Cancelled);
        assert_eq!(
            crate::durability::kinds(&world),
            ["text", "tool_use", "tool_result"]
        );
        world.assert_valid_history();
    }
}

#[test]
fn without_the_capability_or_without_ids_it_fails_as_ever() {
    let frames = numbered(Dialect::AgUi, 0, &says());
    let mut plain: Vec<String> = frames.clone();
    for frame in &mut plain {
        *frame = frame.split_once('\n').expect("an id").1.to_owned();
    }
    let mut odd = frames.clone();
    for frame in &mut odd {
        *frame = frame.replacen("id: ", "id: \u{1F642}", 1);
    }
    for (can, frames) in [(false, frames), (true, plain), (true, odd)] {
        let world = resuming(Dialect::AgUi, |config| {
            config.endpoint.quirks.resumption = if can {
                Resumption::LastEventId
            } else {
                Resumption::Never
            };
        })
        .reply(part(&frames, 0, 3, Ending::Broken))
        .turn();
        assert!(matches!(
            world.outcome(),
            Outcome::Failed {
                failure: Failure::Connection { .. }
            }
        ));
        assert_eq!(world.seen.requests().len(), 1);
    }
}

#[test]
fn before_the_first_event_it_is_a_plain_retry() {
    let frames = numbered(Dialect::AgUi, 0, &[text("Yes.")]);
    let world = resuming(Dialect::AgUi, |_| {})
        .reply(Reply::Bytes(b": heartbeat\n\n".to_vec(), Ending::Broken))
        .reply(part(&frames, 0, frames.len(), Ending::Complete))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(last_ids(&world), [None, None]);
    assert_eq!(resumed(&world), []);
}

#[test]
fn a_page_in_place_of_the_rest_fails_with_what_was_shown() {
    let frames = numbered(Dialect::AgUi, 0, &[text("One two three.")]);
    let world = resuming(Dialect::AgUi, |_| {})
        .reply(part(&frames, 0, 3, Ending::Broken))
        .reply(Reply::Body(Some("text/html"), b"<html>".to_vec()))
        .turn();
    assert!(matches!(
        world.outcome(),
        Outcome::Failed {
            failure: Failure::UnexpectedBody { .. }
        }
    ));
    assert_eq!(world.machine.transcript().text(), "One two");
}

#[test]
fn the_wait_that_the_stream_asks_for_is_kept_to() {
    let frames = numbered(Dialect::AgUi, 0, &[text("One two three.")]);
    let mut first = b"retry: 7000\n\n".to_vec();
    first.extend(frames[..3].concat().into_bytes());
    let world = resuming(Dialect::AgUi, |_| {})
        .reply(Reply::Bytes(first, Ending::Broken))
        .reply(part(&frames, 3, frames.len(), Ending::Complete))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.events().any(|event| matches!(
        event,
        RunEvent::Retrying {
            delay_ms: 7_000,
            ..
        }
    )));
}

#[test]
fn a_stream_that_a_killed_host_left_is_resumed_in_each_state() {
    for state in [StateKind::Streaming, StateKind::Waiting, StateKind::Opening] {
        let frames = numbered(Dialect::AgUi, 0, &says());
        let then = if state == StateKind::Streaming {
            Ending::Stalled
        } else {
            Ending::Broken
        };
        let mut world = resuming(Dialect::AgUi, |_| {}).reply(part(&frames, 0, 3, then));
        if state == StateKind::Opening {
            world = world.reply(Reply::Silent);
        }
        let mut world = world
            .reply(part(&frames, 3, frames.len(), Ending::Complete))
            .streams([text("Done.")]);
        world.send("Go on");
        world.drive_until(|world| world.machine.transcript().text().len() > 5);
        world.drive_to(state);
        if state == StateKind::Streaming {
            // All of the bytes have come.
            while !world.scheduled.is_empty() {
                world.step();
            }
        }
        revive(&mut world);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success, "{state}");
        assert_eq!(world.messages(), unbroken(Dialect::AgUi).messages());
    }
}

#[test]
fn on_another_network_the_stream_is_resumed_at_once() {
    let frames = numbered(Dialect::AgUi, 0, &says());
    let mut world = resuming(Dialect::AgUi, |config| {
        config.device.network_change = NetworkChangePolicy::Reopen;
    })
    .reply(part(&frames, 0, 3, Ending::Stalled))
    .reply(part(&frames, 3, frames.len(), Ending::Complete))
    .streams([text("Done.")]);
    world.send("Go on");
    world.drive_to(StateKind::Streaming);
    while !world.scheduled.is_empty() {
        world.step();
    }
    world
        .input(Input::NetworkAvailable)
        .expect("devices say this at any time");
    assert_eq!(
        world.seen.effect_names(),
        ["open open:0:0", "close open:0:0", "open open:0:1"]
    );
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.messages(), unbroken(Dialect::AgUi).messages());
}

#[test]
fn lost_with_the_network_it_is_resumed_when_that_is_back() {
    let frames = numbered(Dialect::AgUi, 0, &says());
    let mut world = resuming(Dialect::AgUi, |config| config.retry.attempts = 1)
        .reply(part(&frames, 0, 3, Ending::Broken))
        .reply(part(&frames, 3, frames.len(), Ending::Complete))
        .streams([text("Done.")]);
    world.send("Go on");
    world
        .input(Input::NetworkLost)
        .expect("devices say this at any time");
    world.drive_to(StateKind::Waiting);
    world
        .input(Input::NetworkAvailable)
        .expect("devices say this at any time");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.messages(), unbroken(Dialect::AgUi).messages());
}

#[test]
fn the_next_hops_request_names_no_event() {
    let frames = numbered(Dialect::AgUi, 0, &says());
    let world = resuming(Dialect::AgUi, |_| {})
        .reply(part(&frames, 0, 3, Ending::Broken))
        .reply(part(&frames, 3, frames.len(), Ending::Complete))
        .streams([text("Done.")])
        .turn();
    assert_eq!(last_ids(&world).last(), Some(&None));
    let hop = EffectId::Open { hop: 1, attempt: 0 };
    assert!(world.seen.effects().any(|(id, _)| id == hop));
}

#[test]
fn a_model_that_stays_silent_is_given_up() {
    let frames = numbered(Dialect::AgUi, 0, &[text("One two three.")]);
    let mut world = resuming(Dialect::AgUi, |_| {}).reply(part(&frames, 0, 3, Ending::Stalled));
    world.fallback_reply = Some(Reply::Bytes(Vec::new(), Ending::Stalled));
    let world = world.turn();
    let failure = Failure::TimedOut {
        deadline: Deadline::Silence,
    };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
    assert_eq!(world.seen.requests().len(), 4);
}
