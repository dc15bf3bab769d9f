//! A call that is spoken of again: by its id, in a snapshot of the messages, after its end.

use super::{updates, world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use stepwell_core::dialect::Dialect;
use stepwell_core::tool::OwnedChange;
use stepwell_testing::reply::{Part, call, text};

#[test]
fn the_same_id_in_a_later_hop_is_another_call() {
    let mut world = world(Dialect::OpenAiChat, true)
        .streams([call("c", "work", r#"{"a":1}"#)])
        .streams([call("c", "work", r#"{"b":2}"#)])
        .streams([text("Done.")]);
    world.send("Go on");
    world.drive();
    let mut values = BTreeMap::new();
    for update in updates(&world.seen.outputs) {
        let value = values.entry(update.call).or_insert(Value::Null);
        for change in &update.changes {
            change.apply(value).expect("in order");
        }
    }
    assert_eq!(
        values.into_values().collect::<Vec<_>>(),
        [json!({"a": 1}), json!({"b": 2})]
    );
}

#[test]
fn a_snapshot_of_the_messages_goes_on_or_begins_again() {
    let start = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "parentMessageId": "m"});
    let piece = |delta: &str| {
        Part::Event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta}))
    };
    let end = Part::Event(json!({"type": "TOOL_CALL_END", "toolCallId": "c"}));
    let snapshot = |arguments: &str| {
        Part::Event(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": "user-1", "role": "user", "content": "Go on"},
            {"id": "m", "role": "assistant", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "work", "arguments": arguments}}
            ]}
        ]}))
    };
    for (says, beginnings, value) in [
        (
            vec![
                piece(r#"{"a":"x"#),
                snapshot(r#"{"a":"x"#),
                piece(r#"y"}"#),
                end.clone(),
            ],
            1,
            json!({"a": "xy"}),
        ),
        (
            vec![
                piece(r#"{"a":"x"#),
                snapshot(r#"{"a":"xyz"#),
                piece(r#"!"}"#),
                end.clone(),
            ],
            1,
            json!({"a": "xyz!"}),
        ),
        (
            vec![
                piece(r#"{"a":"x"#),
                snapshot(r#"{"b":"#),
                piece("2}"),
                end.clone(),
            ],
            2,
            json!({"b": 2}),
        ),
        (
            vec![
                piece("[oops"),
                snapshot(r#"{"b":"#),
                piece("2}"),
                end.clone(),
            ],
            2,
            json!({"b": 2}),
        ),
        (
            vec![piece(r#"{"a":1}"#), end.clone(), snapshot(r#"{"a":2}"#)],
            2,
            json!({"a": 2}),
        ),
        (
            vec![piece(r#"{"a":1}"#), end.clone(), snapshot(r#"{"a":1}"#)],
            1,
            json!({"a": 1}),
        ),
    ] {
        let says: Vec<_> = [Part::Event(start.clone())]
            .into_iter()
            .chain(says)
            .collect();
        for restores in [false, true] {
            let mut world = world(Dialect::AgUi, true)
                .streams(says.clone())
                .streams([text("Done.")]);
            world.restores = restores;
            world.send("Go on");
            world.drive();
            let (mut view, mut began, mut stopped) = (Value::Null, 0, None);
            for update in updates(&world.seen.outputs) {
                for change in &update.changes {
                    began += usize::from(
                        matches!(change, OwnedChange::Add { path, .. } if path.is_empty()),
                    );
                    change.apply(&mut view).expect("in order");
                }
                stopped.clone_from(&update.stopped);
            }
            assert_eq!(
                (view, began, stopped),
                (value.clone(), beginnings, None),
                "{says:?}"
            );
        }
    }
}

#[test]
fn the_same_id_with_another_parent_is_read_from_its_own_beginning() {
    let start = |parent: &str| {
        Part::Event(
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work", "parentMessageId": parent}),
        )
    };
    let piece = |delta: &str| {
        Part::Event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta}))
    };
    let end = || Part::Event(json!({"type": "TOOL_CALL_END", "toolCallId": "c"}));
    let says = [
        start("m"),
        piece(r#"{"a":1}"#),
        end(),
        start("n"),
        piece(r#"{"b":2}"#),
        end(),
    ];
    for restores in [false, true] {
        let mut world = world(Dialect::AgUi, true)
            .streams(says.clone())
            .streams([text("Done.")]);
        world.restores = restores;
        world.send("Go on");
        world.drive();
        let changes: Vec<_> = updates(&world.seen.outputs)
            .flat_map(|update| &update.changes)
            .collect();
        let begun = changes
            .iter()
            .filter(|change| matches!(change, OwnedChange::Add { path, .. } if path.is_empty()));
        assert_eq!(begun.count(), 2, "{changes:?}");
        let mut view = Value::Null;
        for change in changes {
            change.apply(&mut view).expect("in order");
        }
        assert_eq!(view, json!({"b": 2}));
    }
}

#[test]
fn what_a_snapshot_puts_in_the_place_of_whole_arguments_is_whole_too() {
    let messages = json!([
        {"id": "user-1", "role": "user", "content": "Go on"},
        {"id": "agent-run-0-calls", "role": "assistant", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "work", "arguments": "{\"b\":"}}
        ]}
    ]);
    for restores in [false, true] {
        let mut world = world(Dialect::AgUi, true)
            .streams([
                call("c", "work", r#"{"a":1}"#),
                Part::Event(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages})),
            ])
            .streams([text("Done.")]);
        world.restores = restores;
        world.send("Go on");
        world.drive();
        let last = updates(&world.seen.outputs).last().expect("it is told");
        assert!(last.stopped.is_some(), "nothing more comes: {last:?}");
    }
}
