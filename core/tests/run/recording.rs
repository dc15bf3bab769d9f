//! What exactly is recorded of an agent's stream: each thing once, in its order, and what it changes of earlier
//! messages too.

use crate::durability::stored;
use crate::world::{Cut, ToolReply, World};
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Outcome, RunMachine, StateKind};
use stepwell_core::session::{MessageBuilder, Turn, TurnBlock};
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Part, text};

/// A thread in which an agent has answered before, with an activity, reasoning and a call of its own, and what its
/// next stream says, one event in a chunk or in several.
fn later(cut: Cut, events: impl IntoIterator<Item = Value>) -> World {
    let function = json!({"name": "theirs", "arguments": "{}"});
    let history = json!([
        {"id": "asked", "role": "user", "content": "Before"},
        {"id": "plan", "role": "activity", "activityType": "PLAN", "content": {"steps": 1}},
        {"id": "thought", "role": "reasoning", "content": "Hm."},
        {"id": "said", "role": "assistant", "content": "Some time ago.", "toolCalls": [
            {"id": "old", "type": "function", "function": function},
        ]},
        {"id": "result", "role": "tool", "toolCallId": "old", "content": "A result."},
    ]);
    let mut world = stored(Dialect::AgUi, |_| {}).streams(events.into_iter().map(Part::Event));
    world.cut = cut;
    let history = serde_json::from_value(history).expect("messages of AG-UI");
    world.machine = RunMachine::new(
        Arc::clone(&world.config),
        "thread".into(),
        Transcript::new(history),
    );
    world
}

fn contents(world: &World) -> Vec<Value> {
    let blocks = world.store.blocks.iter();
    blocks.map(|block| json!(block.content)).collect()
}

/// What is recorded of these events, however the stream is cut.
fn recorded(events: &[Value]) -> Vec<Value> {
    let [whole, cut] = [Cut::Whole, Cut::Every(50)].map(|cut| {
        let world = later(cut, events.iter().cloned()).turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        contents(&world)
    });
    assert_eq!(whole, cut);
    whole
}

fn started(id: &str, metadata: Value) -> Value {
    let mut event = json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"});
    if !metadata.is_null() {
        event["metadata"] = metadata;
    }
    event
}

fn delta(id: &str, delta: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta})
}

fn ended(id: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_END", "messageId": id})
}

fn patch(steps: u32) -> Value {
    json!({"type": "ACTIVITY_DELTA", "messageId": "plan", "activityType": "PLAN",
        "patch": [{"op": "replace", "path": "/steps", "value": steps}]})
}

#[test]
fn an_earlier_message_that_a_stream_changes_is_recorded_once_as_it_is_at_the_end() {
    let blocks = recorded(&[patch(2), delta_of("m", "So."), patch(3)]);
    let plan = json!({"type": "message", "message":
        {"id": "plan", "role": "activity", "activityType": "PLAN", "content": {"steps": 3}}});
    assert_eq!(
        blocks,
        [
            json!({"type": "text", "message_id": "m", "text": "So."}),
            plan
        ]
    );
}

fn delta_of(id: &str, delta: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "role": "assistant", "delta": delta})
}

#[test]
fn an_earlier_answer_that_a_stream_goes_on_with_is_recorded_as_it_is_then() {
    let blocks = recorded(&[
        json!({"type": "TEXT_MESSAGE_START", "messageId": "said", "role": "assistant"}),
        delta("said", " And now."),
        ended("said"),
    ]);
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    assert_eq!(blocks[0]["type"], "message");
    assert_eq!(blocks[0]["message"]["content"], "Some time ago. And now.");
}

#[test]
fn earlier_reasoning_that_a_stream_goes_on_with_is_recorded_as_it_is_then() {
    let blocks = recorded(&[
        json!({"type": "REASONING_MESSAGE_START", "messageId": "thought", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "thought", "delta": " Yes."}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "thought"}),
    ]);
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    assert_eq!(blocks[0]["message"]["content"], "Hm. Yes.");
}

#[test]
fn a_call_that_a_stream_hangs_on_an_earlier_answer_is_recorded_with_it() {
    let blocks = recorded(&[
        json!({"type": "TOOL_CALL_START", "toolCallId": "new", "toolCallName": "theirs", "parentMessageId": "said"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "new", "delta": "{\"n\":1}"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "new"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "theirs", "toolCallId": "new", "content": "Done."}),
    ]);
    let kinds: Vec<_> = blocks.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["message", "tool_use", "tool_result"]);
    let calls = &blocks[0]["message"]["toolCalls"];
    let ids = [&calls[0]["id"], &calls[1]["id"]];
    assert_eq!(ids, ["old", "new"]);
}

/// The blocks of what is whole need not wait for the rest.
#[test]
fn what_has_ended_is_recorded_while_the_stream_goes_on() {
    let events = [
        json!({"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "Hm."}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "r"}),
        started("m", Value::Null),
        delta("m", "So."),
        ended("m"),
        started("n", Value::Null),
        delta("n", "An"),
        delta("n", "d."),
    ];
    let mut world = later(Cut::Every(50), events);
    world.send("Go on");
    world.drive_until(|world| world.machine.transcript().text().ends_with("An"));
    assert_eq!(world.machine.state(), StateKind::Streaming);
    assert_eq!(
        contents(&world),
        [
            json!({"type": "reasoning", "message_id": "r", "text": "Hm."}),
            json!({"type": "text", "message_id": "m", "text": "So."}),
        ]
    );
}

#[test]
fn reasoning_that_has_ended_is_recorded_while_the_stream_goes_on() {
    let events = [
        json!({"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "Hm."}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "r"}),
        started("m", Value::Null),
        delta("m", "So."),
        delta("m", " And."),
    ];
    let mut world = later(Cut::Every(50), events);
    world.send("Go on");
    world.drive_until(|world| world.machine.transcript().text().ends_with("So."));
    let reasoning = json!({"type": "reasoning", "message_id": "r", "text": "Hm."});
    assert_eq!(contents(&world), [reasoning]);
}

#[test]
fn an_earlier_activity_that_a_stream_replaces_is_recorded_as_it_is_then() {
    let blocks = recorded(&[
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "plan", "activityType": "PLAN",
            "content": {"steps": 9}, "replace": true}),
    ]);
    let plan =
        json!({"id": "plan", "role": "activity", "activityType": "PLAN", "content": {"steps": 9}});
    assert_eq!(blocks, [json!({"type": "message", "message": plan})]);
}

#[test]
fn what_a_stream_attaches_to_earlier_messages_and_calls_is_recorded() {
    let sealed = |subtype: &str, id: &str| json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": id, "encryptedValue": "sealed"});
    let blocks = recorded(&[sealed("message", "thought"), sealed("tool-call", "old")]);
    let [thought, said] = &blocks[..] else {
        panic!("{blocks:?}");
    };
    assert_eq!(thought["message"]["id"], "thought");
    assert_eq!(thought["message"]["encryptedValue"], "sealed");
    assert_eq!(said["message"]["id"], "said");
    assert_eq!(said["message"]["toolCalls"][0]["encryptedValue"], "sealed");
}

#[test]
fn the_shared_state_is_recorded_once_as_the_stream_leaves_it() {
    let blocks = recorded(&[
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"count": 1}}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/count", "value": 2}]}),
    ]);
    assert_eq!(blocks, [json!({"type": "state", "state": {"count": 2}})]);
}

fn called(id: &str, parent: &str) -> [Value; 3] {
    [
        json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "theirs", "parentMessageId": parent}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": json!({"of": parent}).to_string()}),
        json!({"type": "TOOL_CALL_END", "toolCallId": id}),
    ]
}

fn answered(id: &str, call: &str) -> Value {
    json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": call, "content": id})
}

#[test]
fn an_agents_second_result_of_a_call_is_a_message_of_its_own() {
    let events = [
        &called("c", "m")[..],
        &[answered("one", "c"), answered("two", "c")],
    ];
    let blocks = recorded(&events.concat());
    let kinds: Vec<_> = blocks.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_use", "tool_result", "message"]);
    assert_eq!(blocks[1]["message_id"], "one");
    assert_eq!(blocks[2]["message"]["id"], "two");
}

#[test]
fn calls_are_recorded_where_their_message_is() {
    let note = json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "note", "activityType": "NOTE", "content": {}});
    let events = [&called("c", "m")[..], &[answered("one", "c"), note]];
    let blocks = recorded(&events.concat());
    let kinds: Vec<_> = blocks.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_use", "tool_result", "message"]);
    let note = json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "note", "activityType": "NOTE", "content": {}});
    let events = [&called("c", "m")[..], &[note]];
    let mut world = later(Cut::Whole, events.concat());
    world = world.tool("theirs", |_| ToolReply::text("ok")).streams([]);
    let blocks = contents(&world.turn());
    let kinds: Vec<_> = blocks.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_use", "message", "tool_result"]);
}

/// Then the last one is the call, and the messages that asked before are recorded whole.
#[test]
fn an_id_that_an_agent_gives_to_two_calls_loses_neither() {
    for text in [None, Some("Let me see.")] {
        let said = text.map(|text| vec![started("a", Value::Null), delta("a", text), ended("a")]);
        let events = [
            said.unwrap_or_default(),
            called("c", "a").to_vec(),
            vec![answered("one", "c")],
            called("c", "b").to_vec(),
            vec![answered("two", "c")],
        ];
        let world = later(Cut::Every(50), events.concat()).turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        let blocks = contents(&world);
        let first = blocks.iter().find(|block| block["message"]["id"] == "a");
        let first = first.unwrap_or_else(|| panic!("{blocks:?}"));
        let function = &first["message"]["toolCalls"][0]["function"];
        assert_eq!(function["arguments"], r#"{"of":"a"}"#, "{blocks:?}");
        let call = blocks.iter().find(|block| block["type"] == "tool_use");
        let call = call.unwrap_or_else(|| panic!("{blocks:?}"));
        assert_eq!(call["arguments"], r#"{"of":"b"}"#);
        assert_eq!(call["parent"], "b");
    }
}

#[test]
fn the_answers_of_a_call_whose_id_comes_again_are_read_back_where_they_were() {
    let both = [called("c", "a"), called("x", "a")].concat();
    for events in [
        [called("x", "a").to_vec(), vec![answered("one", "x")]].concat(),
        [both.clone(), vec![answered("one", "x")]].concat(),
        [both, vec![answered("one", "c"), answered("two", "x")]].concat(),
    ] {
        let again = called("x", "b").to_vec();
        let said = [started("m", Value::Null), delta("m", "So."), ended("m")];
        for rest in [
            vec![answered("last", "x")],
            vec![answered("last", "c")],
            [&said[..], &called("x", "d")].concat(),
        ] {
            let events = [&events[..], &again, &rest].concat();
            let world = stored(Dialect::AgUi, |_| {});
            let world = world
                .streams(events.into_iter().map(Part::Event))
                .streams([text("Done.")])
                .turn();
            assert_eq!(*world.outcome(), Outcome::Success);
            let blocks = world.store.blocks.iter().cloned();
            let at = Timestamp(0);
            let turn = Turn {
                id: "run-1".into(),
                history: None,
                parent: None,
                message: world.machine.transcript().messages().first().cloned(),
                status: Outcome::Success.turn_status(),
                outcome: Some(Outcome::Success),
                created_at: at,
                updated_at: at,
                blocks: blocks.map(|block| TurnBlock { block, at }).collect(),
            };
            let read = MessageBuilder::new().transcript([&turn]);
            let read = read.expect("it fits together");
            assert_eq!(read.messages(), world.machine.transcript().messages());
        }
    }
}

#[test]
fn what_is_attached_is_recorded_once_and_again_when_it_changes() {
    let attached = |name: &str| json!({"from": name});
    let blocks = recorded(&[
        started("m", attached("one")),
        delta("m", "So."),
        ended("m"),
        started("n", attached("two")),
        delta("n", "And."),
        ended("n"),
    ]);
    assert_eq!(
        blocks,
        [
            json!({"type": "text", "message_id": "m", "text": "So.", "metadata": attached("one")}),
            json!({"type": "text", "message_id": "n", "text": "And.", "metadata": attached("two")}),
        ]
    );
    let value = |value: &str| json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": value});
    // What comes in one piece is recorded together.
    let world = later(
        Cut::Every(50),
        [
            started("m", Value::Null),
            value("first"),
            delta("m", "So."),
            ended("m"),
            value("second"),
        ],
    )
    .turn();
    let blocks = contents(&world);
    assert_eq!(
        blocks,
        [
            json!({"type": "text", "message_id": "m", "text": "So.", "encrypted_value": "first"}),
            json!({"type": "text", "message_id": "m", "text": "", "encrypted_value": "second"}),
        ]
    );
}

#[test]
fn what_an_agent_attaches_to_its_result_is_recorded_with_it() {
    let blocks = recorded(&[
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "theirs"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "Done.", "metadata": {"by": "them"}}),
    ]);
    let [_, result] = &blocks[..] else {
        panic!("{blocks:?}");
    };
    assert_eq!(result["type"], "tool_result");
    assert_eq!(result["metadata"], json!({"by": "them"}));
}

#[test]
fn of_two_snapshots_in_one_stream_the_messages_are_recorded_from_the_first_that_is_another() {
    let asked = json!({"id": "asked", "role": "user", "content": "Before"});
    let said = |id: &str| json!({"id": id, "role": "assistant", "content": "Anew."});
    let snapshot = |messages: &[Value]| json!({"type": "MESSAGES_SNAPSHOT", "messages": messages});
    let (x, y, z) = (said("x"), said("y"), said("z"));
    // A snapshot that has no activity and no reasoning lets those that are there stay.
    let blocks = recorded(&[
        snapshot(&[asked.clone(), x.clone(), y]),
        snapshot(&[asked, x.clone(), z.clone()]),
    ]);
    assert_eq!(
        blocks,
        [json!({"type": "messages", "after": "thought", "messages": [x, z]})]
    );
}

/// What is noted for one stream would otherwise grow with every hop, in every snapshot.
#[test]
fn what_was_noted_of_a_stream_is_forgotten_at_its_end() {
    let mut world = later(
        Cut::Whole,
        [
            started("m", json!({"from": "them"})),
            delta("m", "So."),
            ended("m"),
            patch(2),
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "work"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
        ],
    );
    world.send("Go on");
    world.drive_to(StateKind::ExecutingTools);
    let text = world.machine.snapshot();
    assert!(text.contains("\"recorded\":[]"), "{text}");
    assert!(!text.contains("\"marks\""), "{text}");
}
