//! The same call twice in a history that a client posts: clients keep a call that was announced again as a second one,
//! often without its arguments.

use crate::ToolCallId;
use crate::event::{Message, MessageContent, ToolCall};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The position of a message, and that of a call in it.
type Entry = (usize, usize);

/// Makes one call of all entries with the same id, the same name and equal or no arguments, beyond those that have a
/// result of their own. Returns how many entries were left out.
pub(super) fn merge(messages: &mut Vec<Message>) -> usize {
    let left_out = take_repeats(messages);
    if !left_out.is_empty() {
        remove(messages, &left_out);
    }
    left_out.len()
}

/// Moves the arguments of repeated entries to the first entry of each call, and returns the repeated entries.
fn take_repeats(messages: &mut [Message]) -> BTreeSet<Entry> {
    let results = results(messages);
    let mut calls: BTreeMap<ToolCallId, Vec<Entry>> = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        let Message::Assistant(said) = message else {
            continue;
        };
        for (position, call) in said.tool_calls.iter().enumerate() {
            calls
                .entry(call.id.clone())
                .or_default()
                .push((at, position));
        }
    }
    calls.retain(|_, places| places.len() > 1);
    let mut left_out: BTreeSet<Entry> = BTreeSet::new();
    for (id, places) in calls {
        let mut kept: Vec<Entry> = Vec::new();
        for place in places {
            let Some(call) = call_at(messages, place).cloned() else {
                continue;
            };
            let has_own_result = kept.len() < results.get(&id).map_or(0, Vec::len);
            let same = kept
                .iter()
                .copied()
                .find(|kept| call_at(messages, *kept).is_some_and(|kept| is_same(kept, &call)));
            let Some(same) = same.filter(|_| !has_own_result) else {
                kept.push(place);
                continue;
            };
            left_out.insert(place);
            if let Message::Assistant(said) = &mut messages[same.0] {
                let kept = &mut said.tool_calls[same.1].function.arguments;
                if kept.trim().is_empty() {
                    *kept = call.function.arguments;
                }
            }
        }
    }
    left_out
}

/// Removes entries, and the messages that have nothing else.
fn remove(messages: &mut Vec<Message>, left_out: &BTreeSet<Entry>) {
    let mut at = 0;
    messages.retain_mut(|message| {
        let index = at;
        at += 1;
        let Message::Assistant(said) = message else {
            return true;
        };
        let before = said.tool_calls.len();
        let mut position = 0;
        said.tool_calls.retain(|_| {
            position += 1;
            !left_out.contains(&(index, position - 1))
        });
        let is_nothing = said.tool_calls.is_empty() && said.content.is_none();
        said.tool_calls.len() == before || !is_nothing
    });
}

/// The results of each call that differ.
fn results(messages: &[Message]) -> BTreeMap<ToolCallId, Vec<MessageContent>> {
    let mut results: BTreeMap<ToolCallId, Vec<MessageContent>> = BTreeMap::new();
    for message in messages {
        if let Message::Tool(result) = message {
            let known = results.entry(result.tool_call_id.clone()).or_default();
            if !known.contains(&result.content) {
                known.push(result.content.clone());
            }
        }
    }
    results
}

fn call_at(messages: &[Message], (at, position): (usize, usize)) -> Option<&ToolCall> {
    match messages.get(at)? {
        Message::Assistant(said) => said.tool_calls.get(position),
        _ => None,
    }
}

fn is_same(one: &ToolCall, other: &ToolCall) -> bool {
    let (a, b) = (&one.function, &other.function);
    let is_empty = |arguments: &str| arguments.trim().is_empty();
    let is_equal = || {
        let value = |text: &str| serde_json::from_str::<Value>(text).ok();
        a.arguments == b.arguments
            || value(&a.arguments).is_some_and(|a| Some(a) == value(&b.arguments))
    };
    a.name == b.name && (is_empty(&a.arguments) || is_empty(&b.arguments) || is_equal())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The calls of each assistant message as `id name arguments`, and how many entries were left out.
    fn merged(messages: Value) -> (Vec<Vec<String>>, usize) {
        let mut messages: Vec<Message> = serde_json::from_value(messages).expect("messages");
        let left_out = merge(&mut messages);
        let said = messages.iter().filter_map(|message| match message {
            Message::Assistant(said) => Some(said.tool_calls.iter()),
            _ => None,
        });
        let text = |call: &ToolCall| {
            format!(
                "{} {} {}",
                call.id, call.function.name, call.function.arguments
            )
        };
        (
            said.map(|calls| calls.map(text).collect()).collect(),
            left_out,
        )
    }

    fn asks(id: &str, calls: &[(&str, &str, &str)]) -> Value {
        let calls: Vec<_> = calls
            .iter()
            .map(|(id, name, arguments)| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            })
            .collect();
        json!({"id": id, "role": "assistant", "toolCalls": calls})
    }

    fn result(id: &str, call: &str, content: &str) -> Value {
        json!({"id": id, "role": "tool", "toolCallId": call, "content": content})
    }

    #[test]
    fn an_entry_that_repeats_a_call_is_that_call() {
        let full = r#"c f {"a":1}"#;
        for (calls, expected) in [
            ([("c", "f", r#"{"a":1}"#), ("c", "f", "")], full),
            ([("c", "f", ""), ("c", "f", r#"{"a":1}"#)], full),
            (
                [("c", "f", r#"{"a":1}"#), ("c", "f", r#"{ "a": 1 }"#)],
                full,
            ),
            ([("c", "f", ""), ("c", "f", "")], "c f "),
        ] {
            for results in [vec![], vec![result("t", "c", "x")]] {
                let one = [&[asks("m", &calls)][..], &results].concat();
                let expected = vec![expected.to_owned()];
                assert_eq!(merged(json!(one)), (vec![expected.clone()], 1), "{calls:?}");
                let mut two = vec![asks("m", &calls[..1])];
                two.extend(results);
                two.push(asks("n", &calls[1..]));
                assert_eq!(merged(json!(two)), (vec![expected], 1), "{calls:?}");
            }
        }
    }

    #[test]
    fn another_call_stays_another() {
        for calls in [
            [("c", "f", r#"{"a":1}"#), ("c", "f", r#"{"a":2}"#)],
            [("c", "f", ""), ("c", "g", "")],
            [("c", "f", ""), ("d", "f", "")],
        ] {
            let (kept, left_out) = merged(json!([asks("m", &calls), result("t", "c", "x")]));
            assert_eq!((kept[0].len(), left_out), (2, 0), "{calls:?}");
        }
        // Each call has its own result: the provider counts its calls from the start in each answer.
        let history = json!([
            asks("m", &[("c", "f", "{}")]),
            result("t", "c", "one"),
            asks("n", &[("c", "f", "{}")]),
            result("u", "c", "two"),
        ]);
        assert_eq!(merged(history).1, 0);
        let twice = json!([
            asks("m", &[("c", "f", "{}")]),
            result("t", "c", "one"),
            asks("n", &[("c", "f", "{}")]),
            result("u", "c", "one"),
        ]);
        assert_eq!(merged(twice).1, 1);
    }
}
