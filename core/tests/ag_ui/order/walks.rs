//! Walks over the table, right and wrong, and stored on the way.

use super::table::Table;
use super::{check, event, tagged};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};
use stepwell_core::event::{EventRef, Order};

/// Few ids and owners, the empty string among both, so that walks meet themselves.
pub(crate) fn any_event() -> impl Strategy<Value = Value> {
    let id = || prop::sample::select(vec!["a", "b", ""]);
    let tag = || prop::sample::select(vec![None, None, None, Some("s"), Some("")]);
    let with_id = prop::sample::select(vec![
        ("TEXT_MESSAGE_START", "messageId"),
        ("TEXT_MESSAGE_CONTENT", "messageId"),
        ("TEXT_MESSAGE_END", "messageId"),
        ("TOOL_CALL_ARGS", "toolCallId"),
        ("TOOL_CALL_END", "toolCallId"),
        ("STEP_STARTED", "stepName"),
        ("STEP_FINISHED", "stepName"),
        ("REASONING_START", "messageId"),
        ("REASONING_END", "messageId"),
        ("REASONING_MESSAGE_START", "messageId"),
        ("REASONING_MESSAGE_CONTENT", "messageId"),
        ("REASONING_MESSAGE_END", "messageId"),
        ("TOOL_CALL_RESULT", "messageId"),
        ("ACTIVITY_DELTA", "messageId"),
    ]);
    let item = (with_id, id(), tag()).prop_map(|((kind, field), id, tag)| {
        let mut event = json!({"type": kind, field: id, "delta": "d", "role": "reasoning"});
        match kind {
            "TOOL_CALL_RESULT" => {
                event = json!({"type": kind, field: id, "toolCallId": "a", "content": ""});
            }
            "ACTIVITY_DELTA" => {
                event = json!({"type": kind, field: id, "activityType": "t", "patch": []});
            }
            "TEXT_MESSAGE_START" => event = json!({"type": kind, field: id}),
            "REASONING_MESSAGE_START" => {}
            _ => {
                event.as_object_mut().unwrap().remove("role");
                if !kind.ends_with("CONTENT") && kind != "TOOL_CALL_ARGS" {
                    event.as_object_mut().unwrap().remove("delta");
                }
            }
        }
        tagged(event, tag)
    });
    let call = (id(), prop::option::of(id()), tag()).prop_map(|(id, parent, tag)| {
        let mut event = json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "n"});
        if let Some(parent) = parent {
            event["parentMessageId"] = parent.into();
        }
        tagged(event, tag)
    });
    let value = (prop::bool::ANY, id(), tag()).prop_map(|(call, id, tag)| {
        let subtype = if call { "tool-call" } else { "message" };
        tagged(
            json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": id,
                "encryptedValue": "v"}),
            tag,
        )
    });
    let activity = (id(), prop::option::of(prop::bool::ANY), tag()).prop_map(|(id, replace, tag)| {
        let mut event = json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "t",
            "content": {}});
        if let Some(replace) = replace {
            event["replace"] = replace.into();
        }
        tagged(event, tag)
    });
    let subagent =
        (0..4, id(), prop::option::of(id())).prop_map(|(which, id, parent)| match which {
            0 | 1 => {
                let mut event =
                    json!({"type": "SUBAGENT_STARTED", "subagentRunId": id, "name": "n"});
                if let Some(parent) = parent {
                    event["parentSubagentRunId"] = parent.into();
                }
                event
            }
            2 => json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id}),
            _ => json!({"type": "SUBAGENT_ERROR", "subagentRunId": id, "message": "m"}),
        });
    let message = move || {
        (
            prop::sample::select(vec!["user", "assistant", "reasoning", "activity", "tool"]),
            id(),
            tag(),
        )
            .prop_map(|(role, id, tag)| {
                let mut message = json!({"role": role, "id": id, "content": "c"});
                match role {
                    "assistant" => {
                        message["toolCalls"] = json!([{"id": id, "type": "function",
                            "function": {"name": "n", "arguments": ""}}]);
                    }
                    "activity" => {
                        message["content"] = json!({});
                        message["activityType"] = "t".into();
                    }
                    "tool" => message["toolCallId"] = "a".into(),
                    _ => {}
                }
                tagged(message, tag)
            })
    };
    let snapshot = prop::collection::vec(message(), 0..3)
        .prop_map(|messages| json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}));
    let start = prop::option::of(prop::collection::vec(message(), 0..3)).prop_map(|history| {
        let mut event = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
        if let Some(messages) = history {
            event["input"] = json!({"threadId": "t", "runId": "r", "messages": messages});
        }
        event
    });
    let plain = prop::sample::select(vec![
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        json!({"type": "RUN_ERROR", "message": "m"}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": null}),
        json!({"type": "STATE_DELTA", "delta": [], "subagentRunId": "s"}),
        json!({"type": "CUSTOM", "name": "n", "value": null}),
        json!({"type": "RAW", "event": null}),
        json!({"type": "FUTURE_EVENT", "messageId": "a"}),
    ]);
    prop_oneof![
        12 => item,
        3 => call,
        2 => value,
        2 => activity,
        3 => subagent,
        1 => snapshot,
        1 => start,
        2 => plain,
    ]
}

/// A stream that the table allows: of random events, those that it takes.
fn valid_walk() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(any_event(), 0..80).prop_map(|events| {
        let mut table = Table::default();
        let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
        let mut rare = 0;
        std::iter::once(start)
            .chain(events)
            .filter(|event| {
                // Ends of a run are let through rarely, so that runs get long.
                if event["type"] == "RUN_ERROR" || event["type"] == "RUN_FINISHED" {
                    rare += 1;
                    if rare % 3 != 0 {
                        return false;
                    }
                }
                table.check(event).is_ok()
            })
            .collect()
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/order.txt",
        ))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_the_table_allows_passes(walk in valid_walk()) {
        let mut order = Order::default();
        let mut table = Table::default();
        for event in &walk {
            table.check(event).unwrap();
            prop_assert_eq!(check(&mut order, event), Ok(()), "{}", event);
            prop_assert_eq!(order.phase(), table.phase);
            prop_assert_eq!(order.open_items(), table.open_items());
        }
    }

    #[test]
    fn a_changed_step_breaks_the_rule_that_the_table_says(
        walk in valid_walk(),
        stray in any_event(),
        at in any::<prop::sample::Index>(),
        replace in any::<bool>(),
    ) {
        let at = at.index(walk.len());
        let mut walk = walk;
        walk.splice(at..at + usize::from(replace), [stray]);
        let mut order = Order::default();
        let mut table = Table::default();
        for event in &walk {
            let before = order.clone();
            let expected = table.check(event);
            prop_assert_eq!(check(&mut order, event), expected, "{}", event);
            if expected.is_err() {
                prop_assert_eq!(&order, &before, "a refused event leaves a trace");
            }
        }
    }

    #[test]
    fn any_events_are_judged_as_the_table_judges_them(
        events in prop::collection::vec(any_event(), 0..60),
    ) {
        let mut order = Order::default();
        let mut table = Table::default();
        for event in &events {
            prop_assert_eq!(check(&mut order, event), table.check(event), "{}", event);
            prop_assert_eq!(order.open_items(), table.open_items());
        }
    }

    /// I4: a snapshot in mid-stream changes nothing; and no order of a map is to be seen in it.
    #[test]
    fn i4_a_snapshot_is_the_same_order(walk in valid_walk(), rest in valid_walk()) {
        let (mut order, mut twin) = (Order::default(), Order::default());
        for event in &walk {
            let _ = check(&mut order, event);
            let _ = check(&mut twin, event);
        }
        let snapshot = serde_json::to_string(&order).unwrap();
        prop_assert_eq!(&snapshot, &serde_json::to_string(&twin).unwrap());
        let mut restored: Order = serde_json::from_str(&snapshot).unwrap();
        prop_assert_eq!(&restored, &order);
        for event in &rest {
            prop_assert_eq!(check(&mut restored, event), check(&mut order, event));
        }
        prop_assert_eq!(restored, order);
    }

    /// The short form of a delta and the whole event are judged the same.
    #[test]
    fn a_borrowed_delta_is_judged_as_the_whole_event(walk in valid_walk(), stray in any_event()) {
        let (mut borrowed, mut whole) = (Order::default(), Order::default());
        for json in walk.iter().chain([&stray]) {
            let event = event(json);
            prop_assert_eq!(
                borrowed.check(EventRef::from(&event)),
                whole.check(EventRef::Whole(&event))
            );
        }
        prop_assert_eq!(borrowed, whole);
    }
}
