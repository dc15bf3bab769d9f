//! The reducer over random walks of events that the protocol allows.

use crate::cases::cases;
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;
use stepwell_core::event::{Event, EventRef, Message, Order, TextMessageStart, ToolCallStart};
use stepwell_core::transcript::{Applied, Transcript};

/// One event of a walk; the numbers name the item, from a few.
fn event() -> impl Strategy<Value = Event> {
    (0..22u8, 0..4u8, "[a-zäß🙂 ]{0,6}").prop_map(|(kind, item, text)| {
        let id = format!("i{item}");
        let call = format!("c{item}");
        let event = match kind {
            0 | 1 => json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
            2..=5 => json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text}),
            6 => json!({"type": "TEXT_MESSAGE_END", "messageId": id, "metadata": {"n": item}}),
            7 => json!({"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "work"}),
            8 => json!({"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "work", "parentMessageId": id}),
            9..=11 => json!({"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": text}),
            12 => json!({"type": "TOOL_CALL_END", "toolCallId": call}),
            13 => json!({"type": "TOOL_CALL_RESULT", "messageId": format!("r{item}{}", text.len()), "toolCallId": call, "content": text}),
            14 => json!({"type": "REASONING_MESSAGE_START", "messageId": format!("t{item}"), "role": "reasoning"}),
            15 => json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": format!("t{item}"), "delta": text}),
            16 => json!({"type": "REASONING_MESSAGE_END", "messageId": format!("t{item}")}),
            17 => json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": item, "text": text}}),
            18 => json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/n", "value": item}]}),
            19 => json!({"type": "ACTIVITY_SNAPSHOT", "messageId": format!("a{item}"), "activityType": "plan", "content": {"n": item}}),
            20 => json!({"type": "ACTIVITY_DELTA", "messageId": format!("a{item}"), "activityType": "plan",
                "patch": [{"op": "replace", "path": "/n", "value": text}]}),
            _ => json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                {"id": "i0", "role": "assistant", "content": text},
                {"id": "u", "role": "user", "content": "Hello"},
                {"id": "i1", "role": "assistant", "toolCalls":
                    [{"id": "c1", "type": "function", "function": {"name": "work", "arguments": text}}]},
            ]}),
        };
        serde_json::from_value(event).expect("an event")
    })
}

/// Those of the events that may follow those before.
fn walk(events: Vec<Event>) -> Vec<Event> {
    let mut order = Order::default();
    let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let start: Event = serde_json::from_value(start).expect("an event");
    std::iter::once(start)
        .chain(events)
        .filter(|event| {
            // A refused event leaves the order as it was.
            let mut next = order.clone();
            let is_allowed = next.check(EventRef::from(event)).is_ok();
            if is_allowed {
                order = next;
            }
            is_allowed
        })
        .collect()
}

fn reloaded(transcript: &Transcript) -> Transcript {
    let text = serde_json::to_string(transcript).expect("plain data");
    serde_json::from_str(&text).expect("what was written can be read")
}

proptest! {
    #![proptest_config(cases(100))]

    /// The index is made anew, so what it is asked shows whether it is as it was.
    #[test]
    fn i04_a_conversation_that_is_written_and_read_goes_on_the_same(before in prop::collection::vec(event(), 0..40), after in prop::collection::vec(event(), 0..20)) {
        let count = before.len();
        let events = walk(before.into_iter().chain(after).collect());
        let mut plain = Transcript::new(vec![Message::user("u", "Hello")]);
        let mut again = plain.clone();
        for (index, event) in events.iter().enumerate() {
            if index == count / 2 {
                again = reloaded(&again);
                prop_assert_eq!(&again, &plain);
            }
            prop_assert_eq!(plain.apply(event.into()), again.apply(event.into()));
            prop_assert_eq!(&plain, &again);
        }
        prop_assert_eq!(&reloaded(&plain), &plain);
    }

    #[test]
    fn i14_a_deltas_range_is_the_delta_and_ranges_follow_on_each_other(events in prop::collection::vec(event(), 0..60)) {
        let mut transcript = Transcript::default();
        let mut ends = HashMap::new();
        for event in walk(events) {
            let reference = EventRef::from(&event);
            let applied = transcript.apply(reference);
            let delta = match reference {
                EventRef::TextMessageContent { delta, .. }
                | EventRef::ReasoningMessageContent { delta, .. }
                | EventRef::ToolCallArgs { delta, .. } => delta,
                EventRef::Whole(_) => {
                    // Places may have moved.
                    ends.clear();
                    continue;
                }
            };
            if let Applied::Delta { item, from } = applied {
                let (_, content) = transcript.item(item).expect("it was just appended to");
                prop_assert_eq!(&content[from..], delta);
                if let Some(end) = ends.insert(item, content.len()) {
                    prop_assert_eq!(end, from);
                }
            }
        }
    }

    /// The cheap form of an event and the whole one do the same.
    #[test]
    fn a_borrowed_delta_does_what_the_whole_event_does(events in prop::collection::vec(event(), 0..40)) {
        let (mut short, mut whole) = (Transcript::default(), Transcript::default());
        for event in walk(events) {
            prop_assert_eq!(short.apply((&event).into()), whole.apply(EventRef::Whole(&event)));
        }
        prop_assert_eq!(short, whole);
    }

    /// Whatever comes, in whatever order: no panic.
    #[test]
    fn events_in_any_order_are_survived(events in prop::collection::vec(event(), 0..60)) {
        let mut transcript = Transcript::default();
        for event in &events {
            let _ = transcript.apply(event.into());
        }
        prop_assert_eq!(&reloaded(&transcript), &transcript);
    }
}

fn apply(transcript: &mut Transcript, event: serde_json::Value) -> Applied {
    let event: Event = serde_json::from_value(event).expect("an event");
    transcript.apply((&event).into())
}

#[test]
fn a_patch_that_copies_the_whole_into_itself_cannot_fill_the_memory() {
    let mut transcript = Transcript::default().with_shared_state(json!({"seed": "x".repeat(1000)}));
    let bomb: Vec<_> = (0..60)
        .map(|n| json!({"op": "copy", "from": "", "path": format!("/c{n}")}))
        .collect();
    let before = transcript.clone();
    let applied = apply(
        &mut transcript,
        json!({"type": "STATE_DELTA", "delta": bomb}),
    );
    assert!(matches!(applied, Applied::Ignored(_)), "{applied:?}");
    assert_eq!(transcript, before);
    // One at a time it is no better.
    for n in 0..60 {
        let _ = apply(
            &mut transcript,
            json!({"type": "STATE_DELTA", "delta": [{"op": "copy", "from": "", "path": format!("/c{n}")}]}),
        );
    }
    assert!(
        serde_json::to_vec(transcript.shared_state())
            .expect("JSON")
            .len()
            < 16 << 20
    );
}

/// What is taken back must not depend on what the operations made of the root.
#[test]
fn a_patch_that_fails_after_the_root_was_replaced_is_left_out_whole() {
    let state = json!({"a": {"b": 1}, "c": [2]});
    for first in [
        json!({"op": "move", "from": "/a", "path": ""}),
        json!({"op": "copy", "from": "/a", "path": ""}),
        json!({"op": "replace", "path": "", "value": 1}),
        json!({"op": "move", "from": "/c/0", "path": ""}),
        json!({"op": "move", "from": "/c/0", "path": "/c/-"}),
    ] {
        let mut transcript = Transcript::default().with_shared_state(state.clone());
        let delta = json!([first, {"op": "test", "path": "/none", "value": 1}]);
        let Applied::Ignored(reason) = apply(
            &mut transcript,
            json!({"type": "STATE_DELTA", "delta": delta}),
        ) else {
            panic!("{delta} was applied");
        };
        assert!(reason.contains("'/1'"), "{reason}");
        assert_eq!(transcript.shared_state(), &state);
    }
}

/// Each move puts the whole one level deeper: by the last, dropping the value would overflow a stack.
#[test]
fn a_patch_cannot_nest_a_value_without_end_on_its_way() {
    let mut transcript = Transcript::default().with_shared_state(json!({"a": 1}));
    let mut operations = Vec::new();
    for _ in 0..30_000 {
        operations.extend([
            json!({"op": "add", "path": "/b", "value": {}}),
            json!({"op": "move", "from": "/a", "path": "/b/a"}),
            json!({"op": "move", "from": "/b", "path": "/a"}),
        ]);
    }
    operations.push(json!({"op": "remove", "path": "/a"}));
    let applied = apply(
        &mut transcript,
        json!({"type": "STATE_DELTA", "delta": operations}),
    );
    assert!(matches!(applied, Applied::Ignored(_)), "{applied:?}");
    assert_eq!(transcript.shared_state(), &json!({"a": 1}));
}

#[test]
fn a_small_copy_is_applied_as_one_of_several_operations() {
    let mut transcript = Transcript::default().with_shared_state(json!({"a": 1}));
    let delta = json!([{"op": "copy", "from": "/a", "path": "/b"}, {"op": "replace", "path": "/b", "value": 2}]);
    assert_eq!(
        apply(
            &mut transcript,
            json!({"type": "STATE_DELTA", "delta": delta})
        ),
        Applied::Whole
    );
    assert_eq!(transcript.shared_state(), &json!({"a": 1, "b": 2}));
    let delta = json!([{"op": "copy", "from": "/a", "path": "/c"}, {"op": "test", "path": "/b", "value": 9}]);
    assert!(matches!(
        apply(
            &mut transcript,
            json!({"type": "STATE_DELTA", "delta": delta})
        ),
        Applied::Ignored(_)
    ));
    assert_eq!(
        transcript.shared_state(),
        &json!({"a": 1, "b": 2}),
        "all or nothing"
    );
}

#[test]
fn a_state_cannot_be_made_deeper_and_deeper() {
    let mut transcript = Transcript::default();
    let mut path = String::new();
    for _ in 0..2_000 {
        path.push_str("/a");
        let _ = apply(
            &mut transcript,
            json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": path, "value": {}}]}),
        );
    }
    let text = serde_json::to_string(transcript.shared_state()).expect("JSON");
    assert_eq!(text.matches('{').count(), 100);
    assert_eq!(reloaded(&transcript), transcript);
}

/// Found by `i04`: which of two calls of one id began last is not to be seen in the messages.
#[test]
fn a_call_that_began_again_in_an_earlier_message_goes_on_there_after_a_restore() {
    let start = |parent: &str| {
        Event::from(ToolCallStart {
            tool_call_id: "c".into(),
            tool_call_name: "work".to_owned(),
            parent_message_id: Some(parent.into()),
            ..ToolCallStart::default()
        })
    };
    let text = |id: &str| {
        Event::from(TextMessageStart {
            message_id: id.into(),
            ..TextMessageStart::default()
        })
    };
    let mut transcript = Transcript::default();
    for event in [
        text("first"),
        start("second"),
        text("third"),
        start("first"),
    ] {
        let _ = transcript.apply((&event).into());
    }
    let mut restored = reloaded(&transcript);
    let piece = EventRef::ToolCallArgs {
        tool_call_id: "c",
        delta: "{}",
    };
    assert_eq!(restored.apply(piece), transcript.apply(piece));
    assert_eq!(reloaded(&restored), restored);
    let calls: Vec<_> = restored
        .tool_calls()
        .map(|call| call.function.arguments.as_str())
        .collect();
    assert_eq!(calls, ["{}", ""]);

    // A place that a damaged snapshot names and that has no such call is none.
    let stored = serde_json::to_string(&restored).expect("plain data");
    let damaged = stored.replace("[0,0]", "[7,0]");
    assert_ne!(damaged, stored);
    let read: Transcript = serde_json::from_str(&damaged).expect("readable");
    assert_eq!(read.messages(), restored.messages());
}
