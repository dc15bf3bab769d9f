//! A client that joins a run of an agent: a snapshot has the beginning of what the stream then continues.

use crate::rejoin::followed;
use crate::world::{ToolReply, World, offer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Event, Message};
use stepwell_core::run::Outcome;
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, text};

const ARGUMENTS: &str = r#"{"city":"Rome"}"#;

fn snapshot(messages: &[Value]) -> Value {
    let mut all = vec![json!({"id": "user-1", "role": "user", "content": "Go on"})];
    all.extend_from_slice(messages);
    json!({"type": "MESSAGES_SNAPSHOT", "messages": all})
}

fn called(arguments: &str) -> Value {
    json!({"id": "m", "role": "assistant", "toolCalls": [
        {"id": "c", "type": "function", "function": {"name": "work", "arguments": arguments}},
    ]})
}

/// What an app has that appends deltas and does nothing else: the content of each message and call.
pub fn appended(world: &World) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for event in world.seen.ag_ui() {
        let (id, delta) = match event {
            Event::TextMessageContent(event) => (event.message_id.as_str(), &event.delta),
            Event::ReasoningMessageContent(event) => (event.message_id.as_str(), &event.delta),
            Event::ToolCallArgs(event) => (event.tool_call_id.as_str(), &event.delta),
            _ => continue,
        };
        all.entry(id.to_owned()).or_default().push_str(delta);
    }
    all
}

fn turn(events: &[Value], restores: bool) -> World {
    let mut world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.partial_arguments = true;
    })
    .tool("work", |call| ToolReply::text(&call.arguments.raw));
    world.restores = restores;
    world
        .streams(events.iter().cloned().map(Part::Event))
        .streams([text("Done.")])
        .turn()
}

/// The content that is appended for `id`, after it was held against the conversation and against an app that applies
/// snapshots.
fn content(events: &[Value], id: &str) -> Option<String> {
    let [plain, restored] = [false, true].map(|restores| {
        let world = turn(events, restores);
        assert_eq!(*world.outcome(), Outcome::Success, "{events:?}");
        let mut messages = world.messages().to_vec();
        messages.retain(|message| !matches!(message, Message::Tool(_)));
        assert_eq!(followed(&world).messages(), messages, "{events:?}");
        appended(&world).remove(id)
    });
    assert_eq!(plain, restored, "{events:?}");
    plain
}

#[test]
fn shows_a_joined_text_complete() {
    let events = |known: &str| {
        [
            snapshot(&[json!({"id": "m", "role": "assistant", "content": known})]),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "world"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        ]
    };
    assert_eq!(
        content(&events("Hello "), "m").as_deref(),
        Some("Hello world")
    );
    assert_eq!(content(&events(""), "m").as_deref(), Some("world"));
    let mut chunked = events("Hello ")[..2].to_vec();
    chunked[1] = json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "world"});
    assert_eq!(content(&chunked, "m").as_deref(), Some("Hello world"));
}

#[test]
fn shows_a_joined_reasoning_complete() {
    let events = [
        snapshot(&[json!({"id": "m", "role": "reasoning", "content": "Hm, "})]),
        json!({"type": "REASONING_START", "messageId": "m"}),
        json!({"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "well"}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "m"}),
        json!({"type": "REASONING_END", "messageId": "m"}),
    ];
    assert_eq!(content(&events, "m").as_deref(), Some("Hm, well"));
}

#[test]
fn shows_the_arguments_of_a_joined_call_complete() {
    let pieces = |pieces: &[&str]| {
        let args = |piece| json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": piece});
        let mut events = vec![
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "parentMessageId": "m"}),
        ];
        events.extend(pieces.iter().map(args));
        events.push(json!({"type": "TOOL_CALL_END", "toolCallId": "c"}));
        events
    };
    for (known, tail) in [
        (r#"{"ci"#, &[r#"ty":"#, r#""Rome"}"#][..]),
        // The snapshot has all of it: the stream has nothing more, or the same again.
        (ARGUMENTS, &[]),
        (ARGUMENTS, &[ARGUMENTS]),
    ] {
        let mut events = vec![snapshot(&[called(known)])];
        events.extend(pieces(tail));
        assert_eq!(content(&events, "c").as_deref(), Some(ARGUMENTS), "{known}");
        let world = turn(&events, false);
        assert_eq!(world.results(), [("c".to_owned(), ARGUMENTS.to_owned())]);
    }
}

#[test]
fn shows_what_a_snapshot_has_more_of_an_open_text() {
    let content_of = |known: &str, delta: &str| {
        let events = [
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel"}),
            snapshot(&[json!({"id": "m", "role": "assistant", "content": known})]),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        ];
        content(&events, "m")
    };
    assert_eq!(
        content_of("Hello ", "world").as_deref(),
        Some("Hello world")
    );
    assert_eq!(content_of("Hel", "lo").as_deref(), Some("Hello"));
}

#[test]
fn shows_no_text_of_an_earlier_turn_again() {
    let said = json!({"id": "m", "role": "assistant", "content": "Hello "});
    let started = json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"});
    let ended = json!({"type": "TEXT_MESSAGE_END", "messageId": "m"});
    let piece = |delta| json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta});
    let events = [
        started.clone(),
        piece("Hello "),
        ended.clone(),
        snapshot(&[said]),
        started,
        piece("world"),
        ended,
    ];
    assert_eq!(content(&events, "m").as_deref(), Some("Hello world"));
}
