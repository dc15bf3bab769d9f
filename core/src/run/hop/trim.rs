//! Keeps related messages together when some are left out.

use crate::MessageId;
use crate::event::Message;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the messages that are left out if the host wants to keep these. Related messages stay together: a call with
/// its results, both ways, and an answer with the reasoning that led to it. The last question and the last message
/// stay.
pub(super) fn left_out<'a>(
    messages: impl Iterator<Item = &'a Message>,
    keep: &[MessageId],
) -> Vec<MessageId> {
    let messages: Vec<_> = messages.collect();
    let groups = groups(&messages);
    let wanted: BTreeSet<&str> = keep.iter().map(MessageId::as_str).collect();
    let question = messages
        .iter()
        .rposition(|message| matches!(message, Message::User(_)));
    let mut kept = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let is_last = at + 1 == messages.len();
        if is_last || Some(at) == question || wanted.contains(message.id().as_str()) {
            kept.insert(groups[at]);
        }
    }
    messages
        .iter()
        .zip(&groups)
        .filter(|(_, group)| !kept.contains(group))
        .map(|(message, _)| message.id().clone())
        .collect()
}

/// The group of each message, named by a place in it.
fn groups(messages: &[&Message]) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..messages.len()).collect();
    let mut callers: BTreeMap<&str, usize> = BTreeMap::new();
    // From here on nothing but reasoning.
    let mut reasoning = 0;
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::Reasoning(_) => continue,
            Message::Assistant(message) => {
                groups[reasoning..at].fill(at);
                // A provider may use an id again: the last caller counts.
                callers.extend(message.tool_calls.iter().map(|call| (&*call.id, at)));
            }
            Message::Tool(message) => {
                if let Some(&caller) = callers.get(&*message.tool_call_id) {
                    groups[at] = caller;
                }
            }
            _ => {}
        }
        reasoning = at + 1;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AssistantMessage, ReasoningMessage, ToolCall, ToolMessage};

    fn assistant(id: &str, calls: &[&str]) -> Message {
        Message::Assistant(AssistantMessage {
            id: id.into(),
            tool_calls: calls
                .iter()
                .map(|id| ToolCall::new(*id, "work", "{}"))
                .collect(),
            ..AssistantMessage::default()
        })
    }

    fn result(id: &str, call: &str) -> Message {
        Message::Tool(ToolMessage {
            id: id.into(),
            tool_call_id: call.into(),
            ..ToolMessage::default()
        })
    }

    fn thought(id: &str) -> Message {
        Message::Reasoning(ReasoningMessage {
            id: id.into(),
            ..ReasoningMessage::default()
        })
    }

    #[test]
    fn what_belongs_together_is_kept_together() {
        let messages = [
            Message::user("u1", "Hello"),
            thought("r1"),
            assistant("a1", &["c1", "c2"]),
            result("t1", "c1"),
            result("t2", "c2"),
            assistant("a2", &[]),
            Message::user("u2", "And?"),
            // The same id again, in another hop.
            assistant("a3", &["c1"]),
            result("t3", "c1"),
        ];
        let out = |keep: &[&str]| {
            let keep: Vec<MessageId> = keep.iter().map(|id| (*id).into()).collect();
            let out = left_out(messages.iter(), &keep);
            out.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        // The last question and the last result, with its call, stay in any case.
        assert_eq!(out(&[]), ["u1", "r1", "a1", "t1", "t2", "a2"]);
        assert_eq!(out(&["nobody"]), out(&[]));
        // One result keeps its call, the other result, and the model's reasoning about it.
        assert_eq!(out(&["t2"]), ["u1", "a2"]);
        assert_eq!(out(&["a1"]), ["u1", "a2"]);
        assert_eq!(out(&["r1"]), ["u1", "a2"]);
        assert_eq!(out(&["a2", "u1"]), ["r1", "a1", "t1", "t2"]);
        assert!(out(&["u1", "t1", "a2"]).is_empty());
    }
}
