//! The table row by row, and what it says of ends and owners.

use super::{check, event, tagged};
use serde_json::{Value, json};
use stepwell_core::event::{End, EventRef, OpenItems, Order, Rule};

/// The rule that the last of these events breaks; the others pass.
fn broken(events: &[Value]) -> Option<Rule> {
    let mut order = Order::default();
    let (last, before) = events.split_last().unwrap();
    for event in before {
        check(&mut order, event).unwrap_or_else(|rule| panic!("{rule}: {event}"));
    }
    check(&mut order, last).err()
}

/// In a run: a shorthand of `type id tag` a line.
fn run(lines: &[&str]) -> Option<Rule> {
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let events: Vec<_> = std::iter::once(started)
        .chain(lines.iter().map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let id = words.get(1).copied().unwrap_or_default();
            let event = match words[0] {
                "RUN_FINISHED" => json!({"threadId": "t", "runId": "r"}),
                "RUN_STARTED" => json!({"threadId": "other", "runId": "r2"}),
                "RUN_ERROR" => json!({"message": "m"}),
                "STEP_STARTED" | "STEP_FINISHED" => json!({"stepName": id}),
                "TOOL_CALL_START" => match id.split_once('@') {
                    Some((id, parent)) => {
                        json!({"toolCallId": id, "toolCallName": "n", "parentMessageId": parent})
                    }
                    None => json!({"toolCallId": id, "toolCallName": "n"}),
                },
                "TOOL_CALL_ARGS" => json!({"toolCallId": id, "delta": "{"}),
                "TOOL_CALL_END" => json!({"toolCallId": id}),
                "TOOL_CALL_RESULT" => json!({"messageId": id, "toolCallId": "x", "content": ""}),
                "REASONING_MESSAGE_START" => json!({"messageId": id, "role": "reasoning"}),
                "SUBAGENT_STARTED" => match id.split_once('@') {
                    Some((id, parent)) => {
                        json!({"subagentRunId": id, "name": "n", "parentSubagentRunId": parent})
                    }
                    None => json!({"subagentRunId": id, "name": "n"}),
                },
                "SUBAGENT_FINISHED" => json!({"subagentRunId": id}),
                "SUBAGENT_ERROR" => json!({"subagentRunId": id, "message": "m"}),
                "STATE_SNAPSHOT" => json!({"snapshot": null}),
                "CUSTOM" => json!({"name": "n", "value": null}),
                kind if kind.ends_with("_CONTENT") => json!({"messageId": id, "delta": "d"}),
                _ => json!({"messageId": id}),
            };
            let mut event = event;
            event["type"] = words[0].into();
            tagged(event, words.get(2).copied())
        }))
        .collect();
    broken(&events)
}

#[test]
fn every_row_of_the_table() {
    let none = None;
    for (lines, rule) in [
        // O2, O3, O4, O5
        (vec!["RUN_STARTED"], Some(Rule::O2)),
        (vec!["RUN_FINISHED", "RUN_STARTED"], none),
        (vec!["RUN_ERROR", "RUN_STARTED"], none),
        (vec!["RUN_ERROR", "RUN_ERROR"], Some(Rule::O3)),
        (vec!["RUN_FINISHED", "RUN_ERROR"], none),
        (vec!["RUN_ERROR", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["RUN_FINISHED", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["TEXT_MESSAGE_START m", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["TOOL_CALL_START c", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["REASONING_START r", "RUN_FINISHED"], Some(Rule::O4)),
        (
            vec!["REASONING_MESSAGE_START r", "RUN_FINISHED"],
            Some(Rule::O4),
        ),
        (vec!["STEP_STARTED s", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["SUBAGENT_STARTED s", "RUN_FINISHED"], Some(Rule::O4)),
        (
            vec![
                "TEXT_MESSAGE_START m",
                "RUN_ERROR",
                "RUN_STARTED",
                "RUN_FINISHED",
            ],
            none,
        ),
        (vec!["RUN_FINISHED", "CUSTOM"], Some(Rule::O5)),
        (vec!["RUN_ERROR", "STATE_SNAPSHOT"], Some(Rule::O5)),
        (vec!["RUN_ERROR", "TEXT_MESSAGE_CONTENT m"], Some(Rule::O5)),
        // O6, O7: one may be opened again; owners outlive the end
        (
            vec!["TEXT_MESSAGE_START m", "TEXT_MESSAGE_START m"],
            Some(Rule::O6),
        ),
        (
            vec![
                "TEXT_MESSAGE_START m",
                "TEXT_MESSAGE_END m",
                "TEXT_MESSAGE_START m",
            ],
            none,
        ),
        (
            vec![
                "TEXT_MESSAGE_START m",
                "TEXT_MESSAGE_END m",
                "TEXT_MESSAGE_START m s",
            ],
            Some(Rule::O6),
        ),
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "TEXT_MESSAGE_END m",
                "TEXT_MESSAGE_START m",
            ],
            none,
        ),
        (vec!["TEXT_MESSAGE_CONTENT m"], Some(Rule::O7)),
        (
            vec!["TEXT_MESSAGE_START m", "TEXT_MESSAGE_CONTENT m s"],
            Some(Rule::O7),
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TEXT_MESSAGE_CONTENT m"],
            none,
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TEXT_MESSAGE_CONTENT m s2"],
            Some(Rule::O7),
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TEXT_MESSAGE_END m s2"],
            Some(Rule::O7),
        ),
        // The empty string is a subagent too, and not the parent agent.
        (
            vec!["TEXT_MESSAGE_START m", "TEXT_MESSAGE_END m "],
            Some(Rule::O7),
        ),
        // A new run forgets.
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "RUN_ERROR",
                "RUN_STARTED",
                "TEXT_MESSAGE_START m s2",
            ],
            none,
        ),
        // O8, O9
        (
            vec!["TOOL_CALL_START c", "TOOL_CALL_START c"],
            Some(Rule::O8),
        ),
        (
            vec!["TOOL_CALL_START c", "TOOL_CALL_END c", "TOOL_CALL_START c"],
            none,
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TOOL_CALL_START c@m s2"],
            Some(Rule::O8),
        ),
        (
            vec!["TEXT_MESSAGE_START m", "TOOL_CALL_START c@m s"],
            Some(Rule::O8),
        ),
        (vec!["TOOL_CALL_START c@unknown s"], none),
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "TOOL_CALL_START c@m",
                "TOOL_CALL_ARGS c s",
            ],
            none,
        ),
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "TOOL_CALL_START c@m",
                "TOOL_CALL_ARGS c s2",
            ],
            Some(Rule::O9),
        ),
        (
            vec![
                "TOOL_CALL_START c s",
                "TOOL_CALL_END c",
                "TEXT_MESSAGE_START m",
                "TOOL_CALL_START c@m",
            ],
            Some(Rule::O8),
        ),
        (vec!["TOOL_CALL_ARGS c"], Some(Rule::O9)),
        (
            vec!["TOOL_CALL_START c", "TOOL_CALL_END c", "TOOL_CALL_END c"],
            Some(Rule::O9),
        ),
        // One id may name a message and a call at once.
        (
            vec![
                "TEXT_MESSAGE_START x",
                "TOOL_CALL_START x",
                "TEXT_MESSAGE_END x",
                "TOOL_CALL_ARGS x",
            ],
            none,
        ),
        // O10
        (vec!["TOOL_CALL_RESULT t", "TOOL_CALL_RESULT t"], none),
        (
            vec!["TOOL_CALL_RESULT t s", "TEXT_MESSAGE_START t s2"],
            Some(Rule::O6),
        ),
        // O11, O12: a step is its agent's
        (vec!["STEP_STARTED a", "STEP_STARTED a"], Some(Rule::O11)),
        (vec!["STEP_STARTED a", "STEP_STARTED a s"], none),
        (vec!["STEP_FINISHED a"], Some(Rule::O12)),
        (vec!["STEP_STARTED a", "STEP_FINISHED a s"], Some(Rule::O12)),
        // O13 to O16: a span and a message share an owner, not their being open
        (
            vec!["REASONING_START r", "REASONING_START r"],
            Some(Rule::O13),
        ),
        (vec!["REASONING_START r", "REASONING_MESSAGE_START r"], none),
        (
            vec!["REASONING_START r s", "REASONING_MESSAGE_START r s2"],
            Some(Rule::O15),
        ),
        (vec!["REASONING_END r"], Some(Rule::O14)),
        (
            vec!["REASONING_START r", "REASONING_END r s"],
            Some(Rule::O14),
        ),
        (
            vec!["REASONING_MESSAGE_START r s", "REASONING_START r s2"],
            Some(Rule::O13),
        ),
        (
            vec!["REASONING_MESSAGE_START r", "REASONING_MESSAGE_START r"],
            Some(Rule::O15),
        ),
        (
            vec!["REASONING_START r", "REASONING_MESSAGE_CONTENT r"],
            Some(Rule::O16),
        ),
        (
            vec!["REASONING_MESSAGE_START r", "REASONING_MESSAGE_END r s"],
            Some(Rule::O16),
        ),
        // O20, O21
        (
            vec!["SUBAGENT_STARTED s", "SUBAGENT_STARTED s"],
            Some(Rule::O20),
        ),
        (
            vec![
                "SUBAGENT_STARTED s",
                "SUBAGENT_FINISHED s",
                "SUBAGENT_STARTED s",
            ],
            Some(Rule::O20),
        ),
        (vec!["SUBAGENT_STARTED s@p"], Some(Rule::O20)),
        (
            vec![
                "SUBAGENT_STARTED p",
                "SUBAGENT_ERROR p",
                "SUBAGENT_STARTED s@p",
            ],
            none,
        ),
        (vec!["SUBAGENT_FINISHED s"], Some(Rule::O21)),
        (
            vec![
                "SUBAGENT_STARTED s",
                "SUBAGENT_ERROR s",
                "SUBAGENT_FINISHED s",
            ],
            Some(Rule::O21),
        ),
        (
            vec![
                "SUBAGENT_STARTED s",
                "TEXT_MESSAGE_START m s",
                "SUBAGENT_FINISHED s",
            ],
            none,
        ),
        // A subagent need not be announced.
        (vec!["TEXT_MESSAGE_START m never-announced"], none),
    ] {
        assert_eq!(run(&lines), rule, "{lines:?}");
    }
}

#[test]
fn the_first_event_starts_a_run_or_says_why_not() {
    assert_eq!(
        broken(&[json!({"type": "CUSTOM", "name": "n", "value": 1})]),
        Some(Rule::O1)
    );
    let delta = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""});
    assert_eq!(broken(&[delta]), Some(Rule::O1));
    let finished = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"});
    assert_eq!(broken(&[finished]), Some(Rule::O1));
    assert_eq!(
        broken(&[json!({"type": "RUN_ERROR", "message": "m"})]),
        None
    );
    assert_eq!(broken(&[json!({"type": "FUTURE_EVENT"})]), None);
}

#[test]
fn history_says_whose_a_message_is() {
    let message = json!({"role": "assistant", "id": "m", "subagentRunId": "s", "toolCalls": [
        {"id": "c", "type": "function", "function": {"name": "n", "arguments": ""}}]});
    let parents = json!({"role": "user", "id": "m", "content": ""});
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r",
        "input": {"threadId": "t", "runId": "r", "messages": [message, parents]}});
    let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": [message, parents]});
    let start =
        |tag: &str| json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": tag});
    let value = |tag: &str| {
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c",
            "encryptedValue": "v", "subagentRunId": tag})
    };
    // The request's history only claims what nobody has: the first one keeps the id.
    assert_eq!(broken(&[started.clone(), start("s")]), None);
    assert_eq!(broken(&[started.clone(), start("s2")]), Some(Rule::O6));
    assert_eq!(broken(&[started.clone(), value("s2")]), Some(Rule::O17));
    // A snapshot overrules: the last one has it.
    assert_eq!(
        broken(&[started.clone(), snapshot.clone(), start("s")]),
        Some(Rule::O6)
    );
    assert_eq!(broken(&[started, snapshot, value("s")]), None);
}

#[test]
fn activities_belong_to_the_snapshot_that_placed_them() {
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let snapshot = |tag: &str, replace: bool| {
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "t", "content": {},
            "subagentRunId": tag, "replace": replace})
    };
    let delta = |tag: &str| {
        json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "t", "patch": [],
            "subagentRunId": tag})
    };
    let judged = |events: &[Value]| broken(&[std::slice::from_ref(&started), events].concat());
    assert_eq!(judged(&[delta("anyone")]), None);
    assert_eq!(judged(&[snapshot("s", true), delta("s2")]), Some(Rule::O19));
    assert_eq!(
        judged(&[snapshot("s", true), snapshot("s2", false), delta("s2")]),
        Some(Rule::O19)
    );
    assert_eq!(
        judged(&[snapshot("s", true), snapshot("s2", true), delta("s2")]),
        None
    );
}

#[test]
fn the_end_tells_finished_errored_and_truncated_apart() {
    let mut order = Order::default();
    assert_eq!(order.end(), End::Truncated(OpenItems::default()));
    assert_eq!(order.end().violation().unwrap().rule, Rule::O24);
    for event in [
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m2"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m1"}),
        json!({"type": "STEP_STARTED", "stepName": "plan", "subagentRunId": "s"}),
    ] {
        check(&mut order, &event).unwrap();
    }
    let open = order.open_items();
    assert_eq!(
        open.to_string(),
        "text messages 'm1', 'm2'; step 'plan of subagent s'"
    );
    assert_eq!(order.end(), End::Truncated(open));
    check(&mut order, &json!({"type": "RUN_ERROR", "message": "m"})).unwrap();
    assert_eq!(order.end(), End::Errored);
    assert!(order.open_items().is_empty());
    check(
        &mut order,
        &json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
    )
    .unwrap();
    check(
        &mut order,
        &json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
    )
    .unwrap();
    assert_eq!(order.end(), End::Finished);
    assert_eq!(order.end().violation(), None);
}

#[test]
fn a_violation_says_what_to_do_and_stays_short() {
    let mut order = Order::default();
    check(
        &mut order,
        &json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
    )
    .unwrap();
    let violation = order
        .check(EventRef::ToolCallArgs {
            tool_call_id: "call-7",
            delta: "",
        })
        .unwrap_err();
    assert_eq!(
        violation.to_string(),
        "O9: TOOL_CALL_ARGS: no tool call 'call-7' is open; send TOOL_CALL_START first"
    );
    assert_eq!(serde_json::to_value(&violation).unwrap()["rule"], "O9");
    for call in 0..10_000 {
        let start = json!({"type": "TOOL_CALL_START", "toolCallId": call.to_string(),
            "toolCallName": "n"});
        check(&mut order, &start).unwrap();
    }
    let finished = event(&json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}));
    let violation = order.check((&finished).into()).unwrap_err();
    assert!(violation.message.len() < 300, "{violation}");
    assert!(violation.message.contains("and 9995 more"), "{violation}");
}
