//! Streams that broke off: what was in the middle of a word there, and what came again.

use super::dialects::{FIRST, SECOND, asked, hides_both, work};
use super::{relived, replays_alike};
use crate::durability::stored;
use crate::journal::{parsed, written};
use crate::world::{Cut, Ending, Reply, ToolReply, offer};
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, Resumption};
use stepwell_core::journal::Journal;
use stepwell_core::run::Outcome;
use stepwell_testing::reply::{Call, Part, call, numbered, text};

/// A piece of a call's arguments that came twice counts once.
#[test]
fn the_arguments_of_a_stream_that_was_resumed_are_hidden_alike() {
    let of = |id: &str, fragments: [&str; 2]| {
        Part::Call(Call {
            id: id.to_owned(),
            name: "work".to_owned(),
            fragments: fragments.map(str::to_owned).to_vec(),
        })
    };
    let frames = numbered(Dialect::AgUi, 0, &[of("a", FIRST), of("b", SECOND)]);
    let second_piece = frames.iter().position(|frame| frame.contains("days"));
    let (before, rest) = frames.split_at(second_piece.expect("it is said"));
    // Cut before the blank line that ends the event, and before the line break, too.
    for end in ["", "\n"] {
        let cut = before.concat() + rest[0].trim_end() + end;
        let mut world = crate::world::with(Dialect::AgUi, |config| {
            offer(config, work());
            config.endpoint.quirks.resumption = Resumption::LastEventId;
        })
        .tool("work", |_| ToolReply::text("Quagga"))
        .journaled()
        .reply(Reply::Bytes(cut.into_bytes(), Ending::Broken))
        .reply(Reply::Bytes(rest.concat().into_bytes(), Ending::Complete))
        .streams([text("Zebra.")]);
        hides_both("resumed", &mut world);
        assert_eq!(world.seen.requests().len(), 3);
    }
}

/// The last event of a body counts without its blank line, too.
#[test]
fn the_last_piece_of_a_stream_that_was_cut_belongs_to_its_call() {
    let calls = |calls: Value| {
        let frame = json!({"object": "chat.completion.chunk", "model": "m", "choices": [
            {"index": 0, "delta": {"tool_calls": calls}, "finish_reason": null}
        ]});
        format!("data: {frame}\n\n")
    };
    let whole = json!({"city": "Zebra"}).to_string();
    let body = [
        calls(json!([
            {"index": 0, "id": "a", "function": {"name": "work", "arguments": whole}},
            {"index": 1, "id": "b", "function": {"name": "work", "arguments": "{\"city\":\"Zeb"}},
        ])),
        calls(json!([{"index": 1, "function": {"arguments": "ra\"}"}}])),
    ];
    let body = body.concat().trim_end().as_bytes().to_vec();
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| offer(config, work()))
        .journaled()
        .reply(Reply::Bytes(body, Ending::Complete))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Truncated);
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(5).expect("it goes the same way");
    replays_alike(&journal, &redacted);
    let hidden = asked(&relived(&redacted, |_, _| ()));
    assert_eq!(hidden.len(), 2);
    assert_eq!(hidden[0], hidden[1]);
}

/// The request of a host that died goes out again under the same effect, and brings another body.
#[test]
fn what_came_after_a_crash_is_no_part_of_what_came_before_it() {
    let half = r#"data: {"choices":[{"index":0,"delta":{"content":"The Zeb"#;
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .journaled()
        .streams([call("c", "work", "{}")])
        .reply(Reply::Bytes(half.as_bytes().to_vec(), Ending::Stalled))
        .streams([text("The Zebra.")]);
    // Each piece of the text is then an event of its own.
    world.cut = Cut::Every(7);
    world.send("Hello");
    while !world.scheduled.is_empty() {
        world.step();
    }
    world.crash();
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let names = world.seen.effect_names();
    let opened = names.iter().filter(|name| *name == "open open:1:0");
    assert_eq!(opened.count(), 2);
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(5).expect("it goes the same way");
    replays_alike(&journal, &redacted);
    let events = |journal: &Journal| journal.replay().expect("the same").events;
    assert_eq!(events(&redacted), events(&journal));
    assert!(!redacted.to_text().contains("Zeb"));
}
