//! An answer that the provider makes in the background is read on after any break, and cancelled when it is left.

use crate::world::{Ending, Reply, ToolReply, World, offer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::{Dialect, HttpRequest, Resumption};
use stepwell_core::run::{
    BlockContent, Credentials, Deadline, Durability, Effect, Failure, FallbackModel, Input,
    KilledPolicy, Outcome, Refusal, RunConfig, RunEvent, RunMachine, StateKind,
};
use stepwell_core::tool::Tool;

const ADDRESS: &str = "http://localhost/v1/responses";
const TEXT: [&str; 3] = ["It is ", "warm and ", "dry."];

fn in_background(change: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(Dialect::OpenAiResponses, |config| {
        offer(config, Tool::new("work", "Works."));
        config.endpoint.quirks.resumption = Resumption::Background;
        config.timeouts.silence = Some(Duration::from_secs(20));
        config.durability = Durability::Blocks { attempts: 1 };
        change(config);
    })
    .tool("work", |_| ToolReply::text("ok"))
}

fn message(text: &str, status: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": "m_1", "role": "assistant", "status": status, "content": content})
}

fn call(status: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "f_1", "call_id": "call_1", "name": "work", "status": status, "arguments": arguments})
}

/// The answer with the text and a call of the tool, as an object.
fn answer(id: &str, status: &str) -> Value {
    let output = match status {
        "completed" => vec![message(&TEXT.concat(), status), call(status, "{\"a\":1}")],
        _ => Vec::new(),
    };
    let usage = json!({"input_tokens": 7, "output_tokens": 9, "total_tokens": 16});
    json!({"id": id, "object": "response", "model": "a-model", "status": status, "output": output, "usage": usage})
}

/// The events of the answer, numbered from 0, one frame each.
fn events(id: &str) -> Vec<String> {
    let mut events = vec![
        json!({"type": "response.created", "response": answer(id, "in_progress")}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": message("", "in_progress")}),
    ];
    let place =
        |kind: &str| json!({"type": kind, "item_id": "m_1", "output_index": 0, "content_index": 0});
    for piece in TEXT {
        let mut delta = place("response.output_text.delta");
        delta["delta"] = piece.into();
        events.push(delta);
    }
    let mut done = place("response.output_text.done");
    done["text"] = TEXT.concat().into();
    let arguments = |kind: &str| json!({"type": format!("response.function_call_arguments.{kind}"), "item_id": "f_1", "output_index": 1});
    let (mut piece, mut whole) = (arguments("delta"), arguments("done"));
    piece["delta"] = "{\"a\":1}".into();
    whole["arguments"] = "{\"a\":1}".into();
    events.extend([
        done,
        json!({"type": "response.output_item.done", "output_index": 0, "item": message(&TEXT.concat(), "completed")}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": call("in_progress", "")}),
        piece,
        whole,
        json!({"type": "response.output_item.done", "output_index": 1, "item": call("completed", "{\"a\":1}")}),
        json!({"type": "response.completed", "response": answer(id, "completed")}),
    ]);
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    let frames = events.into_iter();
    frames.map(|event| format!("data: {event}\n\n")).collect()
}

/// The last answer of the turn: a text alone.
fn last() -> Reply {
    let mut whole = answer("resp_2", "completed");
    whole["output"] = json!([message("Done.", "completed")]);
    let event = json!({"type": "response.completed", "sequence_number": 0, "response": whole});
    Reply::Bytes(format!("data: {event}\n\n").into_bytes(), Ending::Complete)
}

fn part(frames: &[String], then: Ending) -> Reply {
    Reply::Bytes(frames.concat().into_bytes(), then)
}

fn stored(answer: &Value) -> Reply {
    Reply::Body(Some("application/json"), answer.to_string().into_bytes())
}

/// The refusal with which OpenAI ends the time in which an answer is streamed.
fn too_old() -> Reply {
    let message = "This response can no longer be streamed because it is more than 5 minutes old";
    Reply::Refused(Refusal {
        status: 400,
        retry_after: None,
        body: json!({"error": {"message": message}})
            .to_string()
            .into_bytes(),
    })
}

fn requests(world: &World) -> Vec<&HttpRequest> {
    let requests = world.seen.effects().filter_map(|(_, effect)| match effect {
        Effect::OpenStream { request } => Some(request),
        _ => None,
    });
    requests.collect()
}

/// The methods and addresses of the requests, after the common part.
fn asked(world: &World) -> Vec<String> {
    let line = |request: &&HttpRequest| {
        let path = request.url.strip_prefix(ADDRESS).unwrap_or(&request.url);
        format!("{} {path}", request.method)
    };
    requests(world).iter().map(line).collect()
}

fn cancels(world: &World) -> Vec<&HttpRequest> {
    let cancels = world.seen.effects().filter_map(|(_, effect)| match effect {
        Effect::CancelAnswer { request } => Some(request),
        _ => None,
    });
    cancels.collect()
}

/// The turn as it is without a break.
fn unbroken() -> World {
    let world = in_background(|_| {}).reply(part(&events("resp_1"), Ending::Complete));
    world.reply(last()).turn()
}

fn assert_as_unbroken(world: &World, what: &str) {
    let whole = unbroken();
    assert_eq!(*world.outcome(), Outcome::Success, "{what}");
    assert_eq!(world.messages(), whole.messages(), "{what}");
    assert_eq!(
        world.seen.streamed_text(),
        whole.seen.streamed_text(),
        "{what}"
    );
    assert!(cancels(world).is_empty(), "{what}");
}

#[test]
fn the_answer_is_asked_for_in_the_background_and_nothing_else_changes() {
    let world = unbroken();
    let body: Value = serde_json::from_slice(&requests(&world)[0].body).unwrap();
    assert_eq!(
        (&body["background"], &body["store"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(asked(&world), ["POST ", "POST "]);
    assert_as_unbroken(&world, "without a break");
}

#[test]
fn an_answer_that_breaks_off_at_any_event_is_read_on_from_there() {
    let frames = events("resp_1");
    for at in 1..frames.len() {
        for half in [0, 11] {
            let mut bytes = frames[..at].concat();
            bytes.push_str(&frames[at][..half]);
            let mut world = in_background(|_| {})
                .reply(Reply::Bytes(bytes.into_bytes(), Ending::Broken))
                .reply(part(&frames[at..], Ending::Complete))
                .reply(last());
            world.restores = true;
            let world = world.turn();
            let resumed = format!("GET /resp_1?stream=true&starting_after={}", at - 1);
            assert_eq!(asked(&world), ["POST ", &*resumed, "POST "], "{at}");
            assert!(requests(&world)[1].body.is_empty());
            assert_as_unbroken(&world, &resumed);
        }
    }
}

#[test]
fn each_break_has_all_attempts_if_something_new_came_before_it() {
    let frames = events("resp_1");
    let mut world = in_background(|config| config.retry.attempts = 2);
    for frame in &frames[..frames.len() - 1] {
        world = world.reply(part(std::slice::from_ref(frame), Ending::Broken));
    }
    let world = world.reply(part(&frames[frames.len() - 1..], Ending::Complete));
    assert_as_unbroken(&world.reply(last()).turn(), "one event at a time");
}

#[test]
fn events_that_a_server_sends_again_are_read_once_and_are_no_progress() {
    let frames = events("resp_1");
    let again = |to: usize, end| part(&frames[..to], end);
    let world = in_background(|_| {})
        .reply(again(5, Ending::Broken))
        .reply(again(frames.len(), Ending::Complete))
        .reply(last());
    assert_as_unbroken(&world.turn(), "all of it again");
    let mut world = in_background(|config| config.retry.attempts = 3);
    for _ in 0..3 {
        world = world.reply(again(5, Ending::Broken));
    }
    let world = world.turn();
    assert!(matches!(world.outcome(), Outcome::Failed { .. }));
    assert_eq!(asked(&world).len(), 3);
}

#[test]
fn an_answer_that_is_no_longer_streamed_is_read_as_a_whole_once_it_is_finished() {
    let frames = events("resp_1");
    for at in 1..frames.len() {
        let mut world = in_background(|_| {})
            .reply(part(&frames[..at], Ending::Broken))
            .reply(too_old())
            .reply(stored(&answer("resp_1", "queued")))
            .reply(stored(&answer("resp_1", "in_progress")))
            .reply(Reply::Unreachable)
            .reply(stored(&answer("resp_1", "completed")))
            .reply(last());
        world.restores = true;
        let world = world.turn();
        let whole = ["GET /resp_1"; 4];
        assert_eq!(asked(&world)[2..6], whole, "{at}");
        assert_eq!(asked(&world).len(), 7);
        assert_as_unbroken(&world, "read as a whole");
    }
}

#[test]
fn a_whole_answer_that_arrives_in_part_is_read_again() {
    let whole = answer("resp_1", "completed").to_string();
    for ending in [Ending::Broken, Ending::Complete] {
        let half = Reply::Body(Some("application/json"), whole.as_bytes()[..40].to_vec());
        let half = match ending {
            Ending::Complete => half,
            _ => Reply::Bytes(whole.as_bytes()[..40].to_vec(), ending),
        };
        let world = in_background(|_| {})
            .reply(part(&events("resp_1")[..4], Ending::Broken))
            .reply(too_old())
            .reply(half)
            .reply(stored(&answer("resp_1", "completed")))
            .reply(last());
        assert_as_unbroken(&world.turn(), "half of it first");
    }
}

#[test]
fn a_whole_answer_that_always_arrives_in_part_is_not_read_for_ever() {
    let half = answer("resp_1", "completed").to_string().as_bytes()[..40].to_vec();
    let mut world = in_background(|config| config.retry.attempts = 3)
        .reply(part(&events("resp_1")[..4], Ending::Broken))
        .reply(too_old());
    world.fallback_reply = Some(Reply::Body(Some("application/json"), half));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Truncated);
    assert_eq!(asked(&world)[2..], ["GET /resp_1"; 2]);
    assert_eq!(cancels(&world).len(), 1);
}

#[test]
fn an_answer_that_never_ends_is_not_read_for_ever() {
    let mut world = in_background(|_| {})
        .reply(part(&events("resp_1")[..4], Ending::Broken))
        .reply(too_old());
    world.fallback_reply = Some(stored(&answer("resp_1", "in_progress")));
    let world = world.turn();
    let failure = Failure::TimedOut {
        deadline: Deadline::Silence,
    };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
    assert_eq!(asked(&world).len(), 2 + 1_440);
    assert_eq!(cancels(&world).len(), 1);
}

#[test]
fn what_the_provider_says_of_a_stored_answer_ends_the_turn_as_in_a_stream() {
    let mut failed = answer("resp_1", "failed");
    failed["error"] = json!({"code": "server_error", "message": "no more"});
    let mut cut = answer("resp_1", "incomplete");
    cut["incomplete_details"] = json!({"reason": "max_output_tokens"});
    cut["output"] = json!([message(&TEXT.concat(), "incomplete")]);
    for (said, status) in [
        (failed, "failed"),
        (answer("resp_1", "cancelled"), "failed"),
        (cut, "incomplete"),
    ] {
        let world = in_background(|config| config.retry.attempts = 2)
            .reply(part(&events("resp_1")[..4], Ending::Broken))
            .reply(too_old())
            .reply(stored(&said))
            .turn();
        let outcome = serde_json::to_value(world.outcome()).unwrap();
        assert!(outcome.to_string().contains(status), "{outcome}");
        assert!(cancels(&world).is_empty(), "{outcome}");
    }
}

#[test]
fn a_refusal_that_is_not_about_the_answer_is_retried_as_it_is() {
    let refused = |status| {
        Reply::Refused(Refusal {
            status,
            retry_after: None,
            body: Vec::new(),
        })
    };
    let frames = events("resp_1");
    let world = in_background(|_| {})
        .reply(part(&frames[..4], Ending::Broken))
        .reply(refused(503))
        .reply(refused(429))
        .reply(part(&frames[4..], Ending::Complete))
        .reply(last());
    let world = world.turn();
    assert_eq!(
        asked(&world)[1..4],
        ["GET /resp_1?stream=true&starting_after=3"; 3]
    );
    assert_as_unbroken(&world, "refused");
    let world = in_background(|_| {})
        .reply(part(&frames[..4], Ending::Broken))
        .reply(refused(404))
        .reply(refused(404))
        .turn();
    assert!(matches!(world.outcome(), Outcome::Failed { .. }));
    assert_eq!(
        asked(&world)[1..],
        ["GET /resp_1?stream=true&starting_after=3", "GET /resp_1"]
    );
}

fn assert_cancelled_once(world: &World, what: &str) {
    let cancels = cancels(world);
    let [cancel] = cancels[..] else {
        panic!("{what}: {cancels:?}");
    };
    assert_eq!(
        (cancel.method, &*cancel.url),
        ("POST", "http://localhost/v1/responses/resp_1/cancel")
    );
    let key = ("authorization".to_owned(), "Bearer sk-secret".to_owned());
    assert!(cancel.headers.contains(&key) && cancel.body.is_empty());
}

#[test]
fn a_turn_that_is_stopped_before_its_answer_ends_cancels_the_answer() {
    let frames = events("resp_1");
    for at in 0..frames.len() {
        let mut world = in_background(|_| {}).reply(part(&frames[..at], Ending::Stalled));
        world.send("Go on");
        world.drive_until(|world| world.scheduled.is_empty());
        let id = (at > 0).then_some("resp_1");
        assert_eq!(world.machine.response_id(), id);
        world.cancel();
        assert_eq!(*world.outcome(), Outcome::Cancelled);
        match at {
            0 => assert!(cancels(&world).is_empty()),
            _ => assert_cancelled_once(&world, &format!("while event {at} is awaited")),
        }
    }
    for reply in [Reply::Silent, too_old()] {
        let mut world = in_background(|_| {})
            .reply(part(&frames[..4], Ending::Broken))
            .reply(reply)
            .reply(stored(&answer("resp_1", "in_progress")));
        world.send("Go on");
        world.drive_to(StateKind::Waiting);
        world.cancel();
        assert_cancelled_once(&world, "in the pause before the next attempt");
    }
    let mut world = unbroken();
    world.cancel();
    assert!(cancels(&world).is_empty());
}

#[test]
fn a_turn_that_gives_up_cancels_the_answer() {
    let world = in_background(|config| config.retry.attempts = 2)
        .reply(part(&events("resp_1")[..4], Ending::Broken))
        .reply(Reply::Unreachable)
        .turn();
    assert!(matches!(world.outcome(), Outcome::Failed { .. }));
    assert_cancelled_once(&world, "after the last attempt");
    // An answer that is longer than the app wants.
    let world = in_background(|config| config.limits.answer.bytes = 8)
        .reply(part(&events("resp_1")[..4], Ending::Stalled))
        .turn();
    assert!(matches!(world.outcome(), Outcome::Failed { .. }));
    assert_cancelled_once(&world, "after its limit");
}

#[test]
fn another_model_in_place_of_one_in_the_background_leaves_nothing_behind() {
    let world = in_background(|config| {
        config.retry.attempts = 1;
        let mut other = crate::world::config(Dialect::Anthropic).endpoint;
        other.base_url = "http://localhost/v2".to_owned();
        config.fallback.models = vec![FallbackModel::from(other)];
        config.fallback.after_text = true;
    })
    .reply(part(&events("resp_1")[..4], Ending::Broken))
    .streams([stepwell_testing::reply::text("Done.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_cancelled_once(&world, "after a fallback");
}

#[test]
fn a_host_that_dies_once_the_id_is_stored_loses_nothing_of_the_answer() {
    let frames = events("resp_1");
    for at in 1..frames.len() {
        let mut world = in_background(|_| {})
            .journaled()
            .reply(part(&frames[..at], Ending::Stalled));
        world.send("Go on");
        world.drive_until(|world| world.scheduled.is_empty());
        let is_kept = |content: &BlockContent| matches!(content, BlockContent::AnswerStored { response_id } if response_id == "resp_1");
        let blocks = &world.store.turn.turn.blocks;
        assert!(
            blocks.iter().any(|block| is_kept(&block.block.content)),
            "{at}"
        );
        world.crash();
        // The checkpoint may be from before some of the events.
        world = world
            .reply(part(&frames[1..], Ending::Complete))
            .reply(last());
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success, "{at}");
        assert_eq!(world.messages(), unbroken().messages(), "{at}");
        let resumed = &asked(&world)[1];
        assert!(
            resumed.starts_with("GET /resp_1?stream=true&starting_after="),
            "{resumed}"
        );
        assert!(cancels(&world).is_empty());
    }
}

#[test]
fn a_turn_that_ends_with_its_host_cancels_the_answer_from_the_next_one() {
    let mut world = in_background(|config| config.device.killed = KilledPolicy::Cancel)
        .reply(part(&events("resp_1")[..4], Ending::Stalled));
    world.send("Go on");
    world.drive_until(|world| world.scheduled.is_empty());
    world.crash();
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_cancelled_once(&world, "by the next host");
}

#[test]
fn a_host_that_goes_away_leaves_the_answer_to_the_next_one() {
    let mut world = in_background(|_| {}).reply(part(&events("resp_1")[..4], Ending::Stalled));
    world.send("Go on");
    world.drive_until(|world| world.scheduled.is_empty());
    world.input(Input::Dispose).unwrap();
    assert!(cancels(&world).is_empty());
}

#[test]
fn the_key_of_an_answer_that_is_cancelled_is_the_one_that_was_accepted() {
    let keys = |config: &mut RunConfig| config.credentials = Credentials::Host;
    let begun = || {
        let mut world = in_background(keys).reply(part(&events("resp_1")[..4], Ending::Stalled));
        world.credentials.push_back(Ok("sk-secret"));
        world.send("Go on");
        world.drive_until(|world| world.scheduled.is_empty());
        world
    };
    let mut world = begun();
    world.cancel();
    assert_cancelled_once(&world, "with the host's key");
    // A snapshot has no keys, so the next host cannot cancel before it has asked for one.
    let mut world = begun();
    let snapshot = world.machine.snapshot();
    assert!(!snapshot.contains("sk-secret"));
    let revived = RunMachine::restore(&snapshot, Arc::clone(&world.config)).unwrap();
    assert_ne!(revived.canonical(), world.machine.canonical());
    world.put_back(revived);
    world.cancel();
    assert!(cancels(&world).is_empty());
    assert!(
        world
            .seen
            .warnings()
            .iter()
            .any(|said| said.contains("goes on at the provider"))
    );
}

#[test]
fn the_seam_is_told() {
    let frames = events("resp_1");
    let world = in_background(|_| {})
        .reply(part(&frames[..4], Ending::Broken))
        .reply(part(&frames[4..], Ending::Complete))
        .reply(last())
        .turn();
    let resumed =
        |event: &&RunEvent| matches!(event, RunEvent::StreamResumed { hop: 0, attempt: 1 });
    assert_eq!(world.seen.events().filter(resumed).count(), 1);
}
