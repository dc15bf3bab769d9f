//! What the updates of a call come to at its end.

use super::{View, follow, piecemeal, updates, world};
use crate::turn::BOTH;
use crate::world::Cut;
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::tool::OwnedChange;
use stepwell_testing::reply::{Call, Part, text};

#[test]
fn what_a_chunk_says_of_a_call_comes_as_one() {
    for dialect in BOTH {
        let text_of = |index: usize| format!(r#"{{"text":"{}"}}"#, "word ".repeat(index + 3));
        let calls = (0..4).map(|index| piecemeal(index, &text_of(index), &[4]));
        let mut world = world(dialect, true)
            .streams([Part::Calls(calls.collect())])
            .streams([text("Done.")]);
        world.cut = Cut::Whole;
        world.send("Go on");
        world.drive();
        let pieces: Vec<_> = updates(&world.seen.outputs).collect();
        for (index, id) in ["c0", "c1", "c2", "c3"].iter().enumerate() {
            let own: Vec<_> = pieces
                .iter()
                .filter(|update| update.tool_call_id == *id)
                .collect();
            assert_eq!(own.len(), 1, "{dialect:?}: {own:?}");
            assert_eq!(own[0].call.index as usize, index);
            let path = || "/text".into();
            let all = [
                OwnedChange::Add {
                    path: "".into(),
                    value: json!({}),
                },
                OwnedChange::Add {
                    path: path(),
                    value: json!(""),
                },
                OwnedChange::Append {
                    path: path(),
                    text: "word ".repeat(index + 3).into(),
                },
                OwnedChange::End { path: path() },
                OwnedChange::End { path: "".into() },
            ];
            assert_eq!(own[0].changes, all);
        }
    }
}

#[test]
fn every_way_of_saying_none_is_an_empty_object() {
    for (dialect, arguments) in [
        (Dialect::AgUi, None),
        (Dialect::AgUi, Some("null")),
        (Dialect::AgUi, Some("{}")),
        (Dialect::OpenAiChat, None),
        (Dialect::OpenAiChat, Some("null")),
    ] {
        let pieces = arguments.map(str::to_owned).into_iter().collect();
        let none = Call {
            id: "c".to_owned(),
            name: "work".to_owned(),
            fragments: pieces,
        };
        let mut world = world(dialect, true)
            .streams([Part::Call(none)])
            .streams([text("Done.")]);
        let views = follow(&mut world);
        assert_eq!(
            views["c"],
            View {
                value: json!({}),
                stopped: None
            },
            "{dialect:?}, {arguments:?}"
        );
    }
}

#[test]
fn a_whole_call_in_one_delta_is_whole_at_once() {
    let whole = r#"{"city":"Oslo","days":[1,2],"note":null}"#;
    let frame = json!({"choices": [{"index": 0, "delta": {"tool_calls": [
        {"index": 0, "id": "c", "type": "function", "function": {"name": "work", "arguments": whole}}
    ]}}]});
    let mut world = world(Dialect::OpenAiChat, true)
        .streams([
            Part::Raw(format!("data: {frame}\n\n")),
            Part::Calls(Vec::new()),
        ])
        .streams([text("Done.")]);
    world.cut = Cut::Whole;
    let views = follow(&mut world);
    assert_eq!(
        views["c"].value,
        serde_json::from_str::<Value>(whole).expect("JSON")
    );
    assert_eq!(updates(&world.seen.outputs).count(), 1);
}

#[test]
fn arguments_that_are_no_json_stop_with_a_reason_and_harm_nothing() {
    for dialect in BOTH {
        let run = |is_on| {
            let calls = vec![
                Call::new("c", "work", r#"{"a":"x","b":tru }, and so on"#),
                Call::new("d", "work", r#"{"a":"y"}"#),
            ];
            world(dialect, is_on)
                .streams([Part::Calls(calls)])
                .streams([text("Done.")])
        };
        let (mut on, off) = (run(true), run(false).turn());
        let views = follow(&mut on);
        assert_eq!(views["c"].value, json!({"a": "x"}));
        let stopped = views["c"].stopped.as_deref().expect("a reason");
        assert!(stopped.contains("byte 16"), "{stopped}");
        assert_eq!(
            views["d"],
            View {
                value: json!({"a": "y"}),
                stopped: None
            }
        );
        assert_eq!(on.messages(), off.messages());
        assert_eq!(on.seen.requests(), off.seen.requests());
    }
}

#[test]
fn a_call_that_never_ends_is_not_called_whole() {
    let open = Call::new("c", "work", r#"{"a":"x"#);
    let mut world = world(Dialect::AgUi, true)
        .streams([Part::OpenCall(open)])
        .streams([text("Done.")]);
    assert_eq!(
        follow(&mut world)["c"],
        View {
            value: json!({"a": "x"}),
            stopped: None
        }
    );
}

#[test]
fn pieces_that_carry_more_than_text_are_read_too() {
    let start = Part::Event(
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "timestamp": 1}),
    );
    let piece = |delta: &str| {
        Part::Event(
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta, "timestamp": 2}),
        )
    };
    let end = Part::Event(json!({"type": "TOOL_CALL_END", "toolCallId": "c", "timestamp": 3}));
    let says = [
        start,
        piece(r#"{"a":"x"#),
        piece(r#"y","b"#),
        piece(r#"":1}"#),
        end,
    ];
    let mut world = world(Dialect::AgUi, true)
        .streams(says)
        .streams([text("Done.")]);
    assert_eq!(
        follow(&mut world)["c"],
        View {
            value: json!({"a": "xy", "b": 1}),
            stopped: None
        }
    );
}
