//! An interaction of Gemini that is made in the background: whatever breaks, each piece is shown once and in order.

use crate::cases::cases;
use crate::world::{Ending, Reply, ToolReply, World, offer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;
use stepwell_core::dialect::{Dialect, HttpRequest, Resumption};
use stepwell_core::run::{Durability, Effect, Outcome, Refusal};
use stepwell_core::tool::Tool;

const ADDRESS: &str = "http://localhost/v1/interactions";
const TEXT: [&str; 3] = ["It is ", "warm and ", "dry."];

fn in_background() -> World {
    crate::world::with(Dialect::GeminiInteractions, |config| {
        offer(config, Tool::new("work", "Works."));
        config.endpoint.quirks.resumption = Resumption::Background;
        config.timeouts.silence = Some(Duration::from_secs(20));
        config.durability = Durability::Blocks { attempts: 1 };
        // A body that brings nothing new is an attempt.
        config.retry.attempts = 20;
    })
    .tool("work", |_| ToolReply::text("ok"))
}

fn interaction(id: &str, status: &str) -> Value {
    let usage = json!({"total_input_tokens": 7, "total_output_tokens": 9, "total_tokens": 16});
    json!({"id": id, "object": "interaction", "model": "a-model", "status": status, "usage": usage})
}

/// The interaction as it is stored: the request's steps come first.
fn stored(id: &str, status: &str) -> Reply {
    let mut interaction = interaction(id, status);
    let mut steps =
        vec![json!({"type": "user_input", "content": [{"type": "text", "text": "Go on"}]})];
    if status == "requires_action" {
        steps.extend([
            json!({"type": "thought", "signature": "dGg="}),
            json!({"type": "model_output", "content": [{"type": "text", "text": TEXT.concat()}]}),
            json!({"type": "function_call", "id": "call_1", "name": "work", "arguments": {"a": 1}}),
        ]);
    }
    interaction["steps"] = json!(steps);
    Reply::Body(
        Some("application/json"),
        interaction.to_string().into_bytes(),
    )
}

/// The events of the answer. Those at places where `has_id` is false have no id.
fn events(has_id: &dyn Fn(usize) -> bool) -> Vec<String> {
    let step = |kind: &str, index: usize, name: &str, value: Value| {
        let mut event = json!({"event_type": kind, "index": index});
        event[name] = value;
        event
    };
    let stop = |index: usize| json!({"event_type": "step.stop", "index": index});
    let mut events = vec![
        json!({"event_type": "interaction.created", "interaction": interaction("v1_1", "in_progress")}),
        step("step.start", 0, "step", json!({"type": "thought"})),
        step(
            "step.delta",
            0,
            "delta",
            json!({"type": "thought_signature", "signature": "dGg="}),
        ),
        stop(0),
        step("step.start", 1, "step", json!({"type": "model_output"})),
    ];
    for piece in TEXT {
        let delta = json!({"type": "text", "text": piece});
        events.push(step("step.delta", 1, "delta", delta));
    }
    let call = json!({"type": "function_call", "id": "call_1", "name": "work", "arguments": {}});
    events.extend([
        stop(1),
        step("step.start", 2, "step", call),
        step("step.delta", 2, "delta", json!({"type": "arguments_delta", "arguments": "{\"a\""})),
        step("step.delta", 2, "delta", json!({"type": "arguments_delta", "arguments": ":1}"})),
        stop(2),
        json!({"event_type": "interaction.completed", "interaction": interaction("v1_1", "requires_action")}),
    ]);
    for (number, event) in events.iter_mut().enumerate() {
        if has_id(number) {
            event["event_id"] = id(number).into();
        }
    }
    let frames = events.into_iter();
    frames.map(|event| format!("data: {event}\n\n")).collect()
}

/// An id that says nothing of its place.
fn id(number: usize) -> String {
    format!("{:x}/=", (number + 3) * 7_919 % 1_009)
}

fn last() -> Reply {
    let text = [
        json!({"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}),
        json!({"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Done."}}),
        json!({"event_type": "interaction.completed", "interaction": interaction("v1_2", "completed")}),
    ];
    let frames = text.map(|event| format!("data: {event}\n\n")).concat();
    Reply::Bytes(frames.into_bytes(), Ending::Complete)
}

fn part(frames: &[String], then: Ending) -> Reply {
    Reply::Bytes(frames.concat().into_bytes(), then)
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

fn assert_as_unbroken(world: &World) {
    let frames = events(&|_| true);
    let whole = in_background().reply(part(&frames, Ending::Complete));
    let whole = whole.reply(last()).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.messages(), whole.messages());
    assert_eq!(world.seen.streamed_text(), whole.seen.streamed_text());
    assert!(cancels(world).is_empty());
}

fn too_old() -> Reply {
    Reply::Refused(Refusal {
        status: 400,
        retry_after: None,
        body: Vec::new(),
    })
}

#[test]
fn an_interaction_that_breaks_off_at_any_event_is_read_on_from_there() {
    let frames = events(&|_| true);
    for at in 1..frames.len() {
        for half in [0, 11] {
            let mut bytes = frames[..at].concat();
            bytes.push_str(&frames[at][..half]);
            let mut world = in_background()
                .reply(Reply::Bytes(bytes.into_bytes(), Ending::Broken))
                .reply(part(&frames[at..], Ending::Complete))
                .reply(last());
            world.restores = true;
            let world = world.turn();
            let last = id(at - 1).replace('/', "%2F").replace('=', "%3D");
            let resumed = format!("GET /v1_1?stream=true&last_event_id={last}");
            assert_eq!(asked(&world), ["POST ", &*resumed, "POST "], "{at}");
            assert_as_unbroken(&world);
        }
    }
}

#[test]
fn a_body_that_ends_without_the_interaction_is_continued() {
    let frames = events(&|_| true);
    let mut first = frames[..6].to_vec();
    first.push("event: done\ndata: [DONE]\n\n".to_owned());
    let world = in_background()
        .reply(part(&first, Ending::Complete))
        .reply(part(&frames[6..], Ending::Complete))
        .reply(last());
    assert_as_unbroken(&world.turn());
}

#[test]
fn an_interaction_that_is_no_longer_streamed_is_read_once_it_is_finished() {
    let frames = events(&|_| true);
    for at in 1..frames.len() {
        let mut world = in_background()
            .reply(part(&frames[..at], Ending::Broken))
            .reply(too_old())
            .reply(stored("v1_1", "in_progress"))
            .reply(stored("v1_1", "requires_action"))
            .reply(last());
        world.restores = true;
        let world = world.turn();
        assert_eq!(asked(&world)[2..4], ["GET /v1_1"; 2], "{at}");
        assert_as_unbroken(&world);
    }
}

#[test]
fn without_ids_of_events_the_interaction_is_read_as_a_whole() {
    let frames = events(&|_| false);
    let world = in_background()
        .reply(part(&frames[..6], Ending::Broken))
        .reply(stored("v1_1", "in_progress"))
        .reply(stored("v1_1", "requires_action"))
        .reply(last())
        .turn();
    assert_eq!(asked(&world)[1..3], ["GET /v1_1"; 2]);
    assert_as_unbroken(&world);
}

#[test]
fn a_turn_that_is_stopped_cancels_the_interaction() {
    let frames = events(&|_| true);
    let mut world = in_background().reply(part(&frames[..6], Ending::Stalled));
    world.send("Go on");
    world.drive_until(|world| world.scheduled.is_empty());
    world.cancel();
    let cancels = cancels(&world);
    let [cancel] = cancels[..] else {
        panic!("{cancels:?}");
    };
    assert_eq!(
        (cancel.method, &*cancel.url),
        ("POST", "http://localhost/v1/interactions/v1_1/cancel")
    );
    let key = ("x-goog-api-key".to_owned(), "sk-secret".to_owned());
    assert!(cancel.headers.contains(&key) && cancel.body.is_empty());
}

/// The replies of a server that breaks each body after this number of events, and resumes after the last id that the
/// client has.
fn broken(frames: &[String], has_id: &[bool], breaks: &[usize]) -> Vec<Reply> {
    let (mut replies, mut from) = (Vec::new(), 0);
    for length in breaks {
        let to = from + length;
        if to >= frames.len() {
            break;
        }
        replies.push(part(&frames[from..to], Ending::Broken));
        let last = has_id[..to].iter().rposition(|has_id| *has_id);
        from = last.expect("the first event has an id") + 1;
    }
    replies.push(part(&frames[from..], Ending::Complete));
    replies
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn whatever_breaks_each_piece_is_shown_once_in_order(
        mut has_id in prop::collection::vec(any::<bool>(), 14),
        breaks in prop::collection::vec(1..8_usize, 0..6),
        restores in any::<bool>(),
    ) {
        has_id[0] = true;
        let frames = events(&|number| has_id[number]);
        prop_assert_eq!(frames.len(), has_id.len());
        let mut world = in_background();
        world.restores = restores;
        for reply in broken(&frames, &has_id, &breaks) {
            world = world.reply(reply);
        }
        assert_as_unbroken(&world.reply(last()).turn());
    }
}
