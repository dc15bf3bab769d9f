//! The message builder's own choices, and what it makes of damaged blocks.

use crate::stored::begun;
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::Timestamp;
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::run::{Block, TurnStatus};
use stepwell_core::session::{
    MessageBuilder, SessionError, SessionView, TokenBudget, Turn, TurnBlock, ViewOptions,
};

/// A turn of these blocks, which have nothing that may be absent.
fn turn(id: &str, parent: Option<&str>, status: TurnStatus, contents: &[Value]) -> Turn {
    let message = Message::user(format!("{id}-user"), "Go on");
    let mut turn = begun(id, parent, Some(message), 1);
    turn.status = status;
    turn.blocks = contents
        .iter()
        .enumerate()
        .map(|(sequence, content)| {
            let hop = content.get("hop").and_then(Value::as_u64).unwrap_or(0);
            let block = json!({"sequence": sequence, "hop": hop, "content": content});
            let block: Block = serde_json::from_value(block).expect("a block");
            TurnBlock {
                block,
                at: Timestamp(2),
            }
        })
        .collect();
    turn
}

fn asked(status: TurnStatus) -> Turn {
    turn(
        "run",
        None,
        status,
        &[
            json!({"type": "reasoning", "message_id": "r", "text": "Hm."}),
            json!({"type": "text", "message_id": "m", "text": "Let me "}),
            json!({"type": "text", "message_id": "m", "text": "see."}),
            json!({"type": "tool_use", "call": {"hop": 0, "index": 0}, "tool_call_id": "c", "name": "read", "arguments": "{\"path\":\"/\"}"}),
            json!({"type": "tool_use", "call": {"hop": 0, "index": 1}, "tool_call_id": "d", "name": "list", "arguments": "{}"}),
            json!({"type": "tool_result", "call": {"hop": 0, "index": 1}, "tool_call_id": "d", "content": "nothing", "is_error": true}),
        ],
    )
}

fn messages(turns: &[Turn]) -> Vec<Value> {
    let messages = MessageBuilder::new().messages(turns).expect("a path");
    messages.iter().map(|message| json!(message)).collect()
}

#[test]
fn blocks_become_messages() {
    assert_eq!(
        messages(&[asked(TurnStatus::Complete)]),
        [
            json!({"role": "user", "id": "run-user", "content": "Go on"}),
            json!({"role": "reasoning", "id": "r", "content": "Hm."}),
            json!({"role": "assistant", "id": "m", "content": "Let me see.", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"/\"}"}},
                {"id": "d", "type": "function", "function": {"name": "list", "arguments": "{}"}},
            ]}),
            json!({"role": "tool", "id": "run-result-1", "toolCallId": "d", "content": "nothing", "error": "nothing"}),
        ]
    );
}

#[test]
fn what_an_agent_attached_to_its_result_is_in_the_message_too() {
    let call = json!({"hop": 0, "index": 0});
    let contents = [
        json!({"type": "text", "message_id": "m", "text": "Let me see."}),
        json!({"type": "tool_use", "call": call, "tool_call_id": "c", "name": "theirs", "arguments": "{}"}),
        json!({"type": "tool_result", "call": call, "tool_call_id": "c", "content": "Done.", "is_error": false,
            "message_id": "t", "encrypted_value": "sealed", "metadata": {"by": "them"}}),
    ];
    let messages = messages(&[turn("run", None, TurnStatus::Complete, &contents)]);
    assert_eq!(
        messages.last(),
        Some(
            &json!({"role": "tool", "id": "t", "toolCallId": "c", "content": "Done.", "encryptedValue": "sealed",
            "metadata": {"by": "them"}})
        )
    );
}

#[test]
fn a_turn_that_is_not_over_has_a_result_for_each_call() {
    let messages = messages(&[asked(TurnStatus::Streaming)]);
    let unknown = "the app stopped while the tool ran: whether it did its work is not known";
    assert_eq!(
        messages[3..],
        [
            json!({"role": "tool", "id": "run-result-0", "toolCallId": "c", "content": unknown, "error": unknown}),
            json!({"role": "tool", "id": "run-result-1", "toolCallId": "d", "content": "nothing", "error": "nothing"}),
        ]
    );
}

#[test]
fn calls_of_a_turn_that_is_not_over_can_stay_open() {
    let turn = asked(TurnStatus::Streaming);
    let builder = MessageBuilder::new().keep_open_calls();
    let messages = json!(builder.messages([&turn]).unwrap());
    assert_eq!(
        messages.as_array().unwrap()[3..],
        [
            json!({"role": "tool", "id": "run-result-1", "toolCallId": "d", "content": "nothing", "error": "nothing"}),
        ]
    );
}

#[test]
fn turns_in_which_nobody_said_anything_are_skipped() {
    let silent = Turn {
        message: None,
        ..turn("a", None, TurnStatus::Failed, &[])
    };
    let blank = Turn {
        message: Some(Message::user("blank", " \n")),
        ..turn("b", Some("a"), TurnStatus::Failed, &[])
    };
    let unanswered = turn("c", Some("b"), TurnStatus::Failed, &[]);
    let messages = messages(&[silent, blank, unanswered]);
    assert_eq!(
        messages,
        [json!({"role": "user", "id": "c-user", "content": "Go on"})]
    );
}

#[test]
fn results_are_given_the_form_of_their_tool() {
    let builder = MessageBuilder::new().format("list", |result| {
        let (tool, arguments) = (result.tool, result.arguments);
        let content = result.content.to_text();
        MessageContent::from(format!(
            "{tool}({arguments}) = {content}! {}",
            result.is_error
        ))
    });
    let path = [asked(TurnStatus::Streaming)];
    let messages = builder.messages(&path).expect("a path");
    let contents: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => Some(result.content.to_text()),
            _ => None,
        })
        .collect();
    assert!(contents[0].starts_with("the app stopped"), "{contents:?}");
    assert_eq!(contents[1], "list({}) = nothing! true");
    assert!(format!("{builder:?}").contains("list"));
}

#[test]
fn the_model_is_warned_where_its_budget_is_nearly_used() {
    let path = [asked(TurnStatus::Complete)];
    let last = |tokens, warn_at| {
        let builder = MessageBuilder::new().budget(TokenBudget { tokens, warn_at });
        let messages = builder.messages(&path).expect("a path");
        messages.last().expect("messages").role()
    };
    assert_eq!(last(1_000_000, 0.8), "tool");
    assert_eq!(last(30, 0.8), "system");
    assert_eq!(last(0, 0.8), "system");
    assert_eq!(last(1_000_000, f64::NAN), "tool");
}

#[test]
fn a_path_must_hang_together() {
    let error = |turns: &[Turn]| {
        let view = SessionView::of(turns, &ViewOptions::default()).expect_err("no path");
        let built = MessageBuilder::new().messages(turns).expect_err("no path");
        assert_eq!(built, view);
        built
    };
    let complete = TurnStatus::Complete;
    assert_eq!(
        error(&[
            turn("a", None, complete, &[]),
            turn("b", Some("x"), complete, &[])
        ]),
        SessionError::NotAPath { turn: "b".into() }
    );
    let mut gap = asked(complete);
    gap.blocks.remove(2);
    assert!(matches!(
        error(&[gap]),
        SessionError::SequenceGap { expected: 2, .. }
    ));
    let behind = json!({"type": "messages", "after": "gone", "messages": []});
    assert_eq!(
        error(&[turn("a", None, complete, &[behind])]),
        SessionError::UnknownMessage {
            turn: "a".into(),
            sequence: 0,
            message: "gone".into(),
        }
    );
}

fn hostile() -> impl Strategy<Value = Value> {
    let id = || prop_oneof![Just("run-user"), Just("m"), Just("n"), Just("c"), Just("")];
    let key = || (0..3u32, prop_oneof![Just(0u32), Just(1), Just(u32::MAX)]);
    prop_oneof![
        (id(), any::<bool>()).prop_map(|(id, kind)| {
            let kind = if kind { "text" } else { "reasoning" };
            json!({"type": kind, "message_id": id, "text": "x", "metadata": {"a": 1}})
        }),
        (id(), id(), key()).prop_map(|(id, parent, (hop, index))| json!({"type": "tool_use", "call": {"hop": hop, "index": index}, "tool_call_id": id, "name": "", "arguments": "{", "parent": parent, "hop": hop})),
        (id(), id(), key()).prop_map(|(id, message, (hop, index))| json!({"type": "tool_result", "call": {"hop": hop, "index": index}, "tool_call_id": id, "content": [], "is_error": true, "message_id": message, "hop": hop})),
        (id(), key()).prop_map(|(id, (hop, _))| json!({"type": "message", "hop": hop, "message": {"role": "tool", "id": id, "toolCallId": "c", "content": ""}})),
        id().prop_map(|id| json!({"type": "message", "message": {"role": "activity", "id": id, "activityType": "a", "content": {}}})),
        (id(), id()).prop_map(|(after, id)| json!({"type": "messages", "after": after, "messages": [{"role": "user", "id": id, "content": ""}, {"role": "user", "id": id, "content": ""}]})),
        Just(json!({"type": "messages", "messages": []})),
        id().prop_map(|id| json!({"type": "steering", "message": {"role": "user", "id": id, "content": "x"}})),
        key().prop_map(|(hop, index)| json!({"type": "deferred", "call": {"hop": hop, "index": index}})),
        key().prop_map(|(hop, index)| json!({"type": "approval", "call": {"hop": hop, "index": index}, "decision": "granted"})),
        Just(json!({"type": "state", "state": null})),
    ]
}

proptest! {
    /// What no run would write gives messages or an error, never a panic; and the same twice.
    #[test]
    fn mad_blocks_do_no_harm(contents in prop::collection::vec(hostile(), 0..12), is_over: bool) {
        let status = if is_over { TurnStatus::Complete } else { TurnStatus::Streaming };
        let path = [turn("run", None, status, &contents)];
        let messages = MessageBuilder::new().messages(&path);
        prop_assert_eq!(&messages, &MessageBuilder::new().messages(&path));
        let view = SessionView::of(&path, &ViewOptions::default());
        prop_assert_eq!(view.is_ok(), messages.is_ok());
    }
}
