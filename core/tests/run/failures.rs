//! What goes wrong between the machine and the model.

use crate::turn::BOTH;
use crate::world::{Cut, Reply, ToolReply, World, offer};
use std::time::Duration;
use stepwell_core::dialect::{ApiErrorKind, Dialect};
use stepwell_core::provider;
use stepwell_core::run::{Failure, Outcome, Refusal, RunEvent};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, call, text};

fn refusal(status: u16, body: &str) -> Reply {
    Reply::Refused(Refusal {
        status,
        retry_after: None,
        body: body.as_bytes().to_vec(),
    })
}

#[track_caller]
fn failure(world: &World) -> &Failure {
    match world.outcome() {
        Outcome::Failed { failure } => failure,
        other => panic!("it did not fail: {other:?}"),
    }
}

#[test]
fn a_stream_cut_in_the_middle_is_truncated_and_its_text_kept() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .streams([text("Half an answ"), Part::Cut])
            .turn();
        assert_eq!(*world.outcome(), Outcome::Truncated);
        assert_eq!(world.machine.transcript().text(), "Half an answ");
        world.assert_valid_history();
    }
}

#[test]
fn a_stream_cut_within_a_frame_is_truncated() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .streams([text("Half"), Part::Raw("data: {\"cho".into()), Part::Cut])
            .turn();
        assert_eq!(*world.outcome(), Outcome::Truncated);
        assert_eq!(world.machine.transcript().text(), "Half");
    }
}

#[test]
fn a_stream_cut_with_calls_abandons_them_and_the_history_stays_legal() {
    for dialect in BOTH {
        let world = crate::world::with(dialect, |config| {
            offer(config, Tool::new("clock", "The time."));
        })
        .streams([text("Let me see."), call("c", "clock", "{}"), Part::Cut])
        .turn();
        assert_eq!(*world.outcome(), Outcome::Truncated);
        assert!(
            world.seen.invocations().is_empty(),
            "a call of a broken answer is not run"
        );
        assert!(world.result().contains("broke off"));
        world.assert_valid_history();
    }
}

/// The first piece of a line looks like JSON that is no stream.
#[test]
fn a_stream_of_lines_that_is_cut_is_truncated_however_its_first_line_came() {
    for size in [1, 5, 1_000] {
        let provider = provider::find("ollama").expect("a provider of the table");
        let endpoint = provider.endpoint(None, "a-model", Some("http://localhost"), None);
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            config.endpoint = endpoint.expect("nothing is missing");
        });
        world.cut = Cut::Every(size);
        let line = r#"{"model":"m","message":{"role":"assistant","content":"Half"},"done":false}"#;
        let body = format!("{line}\n").into_bytes();
        let world = world
            .reply(Reply::Body(Some("application/x-ndjson"), body))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Truncated, "{size}");
        assert_eq!(world.machine.transcript().text(), "Half");
    }
}

#[test]
fn a_connection_that_breaks_after_the_first_event_is_not_tried_again() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .reply(Reply::Broken(vec![text("Half"), Part::Cut]))
            .turn();
        assert!(
            matches!(failure(&world), Failure::Connection { message } if message == "connection reset")
        );
        assert_eq!(world.machine.transcript().text(), "Half");
        assert_eq!(world.seen.effect_names(), ["open open:0:0"]);
    }
}

#[test]
fn a_connection_that_breaks_after_the_end_was_said_does_no_harm() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .reply(Reply::Broken(vec![text("All of it")]))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
    }
}

#[test]
fn no_connection_is_tried_again() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .reply(Reply::Unreachable)
            .streams([text("Yes.")])
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(
            world.seen.effect_names(),
            ["open open:0:0", "open open:0:1"]
        );
    }
}

#[test]
fn an_empty_body_is_truncated_after_the_last_attempt() {
    for dialect in BOTH {
        let mut world = crate::world::of(dialect);
        world.fallback_reply = Some(Reply::Body(Some("text/event-stream"), Vec::new()));
        let world = world.turn();
        assert_eq!(*world.outcome(), Outcome::Truncated);
        assert_eq!(world.seen.requests().len(), 4);
    }
}

#[test]
fn a_lost_stream_without_an_event_is_tried_again_with_the_same_request() {
    use stepwell_core::run::{EffectId, Input, StateKind};
    let mut world = crate::world::ag_ui()
        .reply(Reply::Silent)
        .streams([text("Yes.")]);
    world.send("Hello");
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    world
        .input(Input::Opened {
            effect,
            content_type: None,
        })
        .expect("it is pending");
    world
        .input(Input::Received {
            effect,
            bytes: b": heartbeat\n\n"[..].into(),
        })
        .expect("it is live");
    world
        .input(Input::Lost {
            effect,
            message: "reset".into(),
        })
        .expect("it is live");
    assert_eq!(world.machine.state(), StateKind::Waiting);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    assert_eq!(requests[0], requests[1]);
}

#[test]
fn a_401_fails_at_once_and_says_that_the_key_is_at_fault() {
    let world = crate::world::chat()
        .reply(refusal(
            401,
            r#"{"error":{"message":"bad key","code":"invalid_api_key"}}"#,
        ))
        .turn();
    let Failure::Api { error } = failure(&world) else {
        panic!("{:?}", world.outcome())
    };
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ApiErrorKind::Authentication, "bad key")
    );
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn a_429_waits_as_long_as_it_is_told() {
    let mut world = crate::world::chat()
        .reply(Reply::Refused(Refusal {
            status: 429,
            retry_after: Some(Duration::from_secs(30)),
            body: Vec::new(),
        }))
        .streams([text("Yes.")]);
    world.send("Hello");
    let begin = world.now;
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.now - begin >= 30_000);
    assert!(world.seen.events().any(|event| matches!(
        event,
        RunEvent::Retrying {
            attempt: 1,
            delay_ms: 30_000,
            ..
        }
    )));
}

#[test]
fn a_retry_after_beyond_the_policy_fails_instead_of_waiting() {
    let answer = Refusal {
        status: 429,
        retry_after: Some(Duration::from_secs(3600)),
        body: Vec::new(),
    };
    let world = crate::world::chat().reply(Reply::Refused(answer)).turn();
    assert!(matches!(failure(&world), Failure::Api { error } if error.status == 429));
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn a_retry_after_of_just_what_the_policy_allows_is_waited_for() {
    let refusal = |seconds| {
        Reply::Refused(Refusal {
            status: 429,
            retry_after: Some(Duration::from_secs(seconds)),
            body: Vec::new(),
        })
    };
    let world = crate::world::chat()
        .reply(refusal(120))
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let world = crate::world::chat()
        .reply(refusal(121))
        .streams([text("Yes.")])
        .turn();
    assert!(matches!(failure(&world), Failure::Api { .. }));
}

#[test]
fn a_500_is_tried_again_with_growing_pauses_and_in_the_end_fails() {
    let mut world = crate::world::chat();
    world.fallback_reply = Some(refusal(500, "oops"));
    let world = world.turn();
    assert!(
        matches!(failure(&world), Failure::Api { error } if error.status == 500 && error.message == "oops")
    );
    assert_eq!(
        world.seen.requests().len(),
        4,
        "the default number of tries"
    );
    let pauses: Vec<_> = world
        .seen
        .events()
        .filter_map(|event| match event {
            RunEvent::Retrying { delay_ms, .. } => Some(*delay_ms),
            _ => None,
        })
        .collect();
    assert_eq!(pauses, [100, 200, 400]);
}

/// The pauses of the hop `hop` of a run whose jitter is a half.
fn pauses(hop: usize, seed: u64) -> Vec<u64> {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("clock", "The time."));
        config.retry.jitter = 0.5;
        config.retry.seed = seed;
    })
    .tool("clock", |_| ToolReply::text("noon"));
    for round in 0..hop {
        world = world.streams([call(&format!("c{round}"), "clock", "{}")]);
    }
    world.fallback_reply = Some(Reply::Unreachable);
    let world = world.turn();
    let pauses = world.seen.events().filter_map(|event| match event {
        RunEvent::Retrying { delay_ms, .. } => Some(*delay_ms),
        _ => None,
    });
    pauses.collect()
}

#[test]
fn jitter_is_within_its_bounds_and_spreads_over_all_of_them() {
    let all: Vec<_> = (0..200).map(|seed| pauses(0, seed)).collect();
    for (attempt, nominal) in [100, 200, 400].into_iter().enumerate() {
        let of_attempt: Vec<_> = all.iter().map(|pauses| pauses[attempt]).collect();
        let (shortest, longest) = (nominal / 2, nominal * 3 / 2);
        assert!(
            of_attempt
                .iter()
                .all(|pause| (shortest..=longest).contains(pause))
        );
        // Each quarter of the range gets its share.
        for quarter in 0..4 {
            let from = shortest + quarter * nominal / 4;
            let within = of_attempt
                .iter()
                .filter(|&&pause| (from..from + nominal / 4).contains(&pause))
                .count();
            assert!(
                (25..=75).contains(&within),
                "{within} of 200 from {from} on"
            );
        }
    }
}

/// By an independent writing of FNV-1a and SplitMix64: equal seeds give equal pauses on every machine, and in every
/// version.
#[test]
fn the_pauses_are_those_of_the_turn_the_hop_the_attempt_and_the_seed() {
    assert_eq!(pauses(0, 1), [138, 218, 357]);
    assert_eq!(pauses(0, 2), [109, 276, 464]);
    assert_eq!(pauses(1, 1), [123, 296, 562]);
    assert_eq!(pauses(1, 2), [148, 246, 265]);
}

#[test]
fn a_pause_doubles_up_to_the_longest() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.retry.attempts = 6;
        config.retry.max_delay = Duration::from_millis(500);
    });
    world.fallback_reply = Some(Reply::Unreachable);
    let world = world.turn();
    let pauses = world.seen.events().filter_map(|event| match event {
        RunEvent::Retrying { delay_ms, .. } => Some(*delay_ms),
        _ => None,
    });
    assert_eq!(pauses.collect::<Vec<_>>(), [100, 200, 400, 500, 500]);
}

#[test]
fn an_html_body_fails_and_shows_its_beginning() {
    for media_type in [
        Some("text/html; charset=utf-8"),
        Some("text/event-stream"),
        None,
    ] {
        let page = b"<!doctype html><title>Please sign in</title>".to_vec();
        let world = crate::world::chat()
            .reply(Reply::Body(media_type, page))
            .turn();
        match failure(&world) {
            Failure::UnexpectedBody { excerpt, .. } => assert!(excerpt.contains("Please sign in")),
            other => panic!("{media_type:?}: {other:?}"),
        }
    }
}

#[test]
fn a_json_error_with_status_200_is_that_error() {
    for media_type in [Some("application/json"), Some("text/event-stream"), None] {
        let body = br#"{"error":{"message":"no credit left","type":"billing"}}"#.to_vec();
        let world = crate::world::chat()
            .reply(Reply::Body(media_type, body))
            .turn();
        match failure(&world) {
            Failure::Api { error } => assert_eq!(error.message, "no credit left"),
            other => panic!("{media_type:?}: {other:?}"),
        }
    }
}

#[test]
fn a_body_that_is_no_stream_and_has_no_end_is_closed() {
    let mut page = b"<html>".to_vec();
    page.resize(1 << 20, b' ');
    let world = crate::world::chat()
        .reply(Reply::Body(Some("text/html"), page))
        .turn();
    assert!(matches!(failure(&world), Failure::UnexpectedBody { .. }));
    assert!(
        world
            .seen
            .effect_names()
            .contains(&"close open:0:0".to_owned())
    );
}

#[test]
fn heartbeats_alone_are_truncated_after_the_last_attempt() {
    let mut world = crate::world::chat();
    world.fallback_reply = Some(Reply::Complete(vec![
        Part::Heartbeat,
        Part::Heartbeat,
        Part::Cut,
    ]));
    let world = world.turn();
    assert_eq!(world.seen.requests().len(), 4);
    assert_eq!(*world.outcome(), Outcome::Truncated);
}

#[test]
fn an_error_in_the_stream_fails_with_its_words_and_keeps_the_text() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .streams([text("Half"), Part::Error("overloaded".into())])
            .turn();
        assert!(
            matches!(failure(&world), Failure::Reported { error, .. } if error.message == "overloaded")
        );
        assert_eq!(failure(&world).kind(), Some(ApiErrorKind::Overloaded));
        assert_eq!(world.machine.transcript().text(), "Half");
    }
}

#[test]
fn the_words_of_an_error_in_the_stream_say_whether_to_try_again_may_help() {
    for (words, may_help) in [("overloaded", true), ("the prompt is too long", false)] {
        let mut world = crate::world::ag_ui();
        world.fallback_reply = Some(Reply::Complete(vec![Part::Error(words.into())]));
        let world = world.turn();
        assert_eq!(failure(&world).is_transient(), may_help, "{words}");
    }
}

#[test]
fn an_error_in_the_stream_abandons_the_calls_and_loses_no_delta() {
    // All in one chunk, so that the end comes while the deltas still wait for the host. The text comes after the
    // call, so that the call's result goes in before it.
    let mut world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("clock", "The time."));
    });
    world.cut = Cut::Whole;
    let world = world
        .streams([
            call("c", "clock", "{}"),
            text("after the call"),
            Part::Error("gone".into()),
        ])
        .turn();
    assert_eq!(world.seen.streamed_text(), "after the call");
    assert!(world.result().contains("broke off"));
    assert!(world.seen.invocations().is_empty());
}

#[test]
fn what_is_not_json_ends_the_stream_and_keeps_what_came_before() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .streams([
                text("Half"),
                Part::Raw("data: {nonsense}\n\n".into()),
                text("more"),
            ])
            .turn();
        assert!(
            matches!(failure(&world), Failure::Stream { .. }),
            "{:?}",
            world.outcome()
        );
        assert_eq!(world.machine.transcript().text(), "Half");
    }
}

#[test]
fn events_in_a_wrong_order_are_a_protocol_error() {
    let orphan =
        serde_json::json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "none", "delta": "x"});
    let world = crate::world::ag_ui()
        .streams([text("Half"), Part::Event(orphan)])
        .turn();
    assert!(matches!(failure(&world), Failure::Stream { message } if message.contains("O7")));
}

#[test]
fn nothing_is_left_running_after_a_failure() {
    let mut world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("clock", "The time."));
    })
    .tool("clock", |_| ToolReply::text("noon"));
    world.fallback_reply = Some(Reply::Complete(vec![text("x"), Part::Error("gone".into())]));
    let world = world.turn();
    assert!(world.given.is_empty());
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn a_wait_that_only_the_body_asks_for_is_kept_too() {
    let body = r#"{"error":{"message":"Rate limit reached. Please try again in 7.66s.","code":"rate_limit_exceeded"}}"#;
    let mut world = crate::world::chat()
        .reply(refusal(429, body))
        .streams([text("Yes.")]);
    world.send("Hello");
    let begin = world.now;
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.now - begin >= 7_660);
}

#[test]
fn a_quota_that_is_used_up_is_not_tried_again_and_an_overload_is() {
    let used_up = r#"{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let world = crate::world::chat().reply(refusal(429, used_up)).turn();
    assert_eq!(failure(&world).kind(), Some(ApiErrorKind::Quota));
    assert_eq!(world.seen.requests().len(), 1);
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let world = crate::world::chat()
        .reply(refusal(529, overloaded))
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.requests().len(), 2);
}
