//! What a stored turn waits for, read from its blocks.

use crate::CallKey;
use crate::run::{BlockContent, Pending, PendingCall, Question, StoredTurn as Turn, TurnStatus};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns what a stored turn waits for, without its agent and in any process: the approvals, the questions of tools and
/// the results of deferred calls that have no answer yet, in the order of the calls. Empty for a turn that has ended.
///
/// The host of the turn stores what it asks before it asks, so an approval is listed here at the latest when the user sees
/// it.
#[must_use]
pub fn pending(turn: &Turn) -> Vec<Pending> {
    if turn.status != TurnStatus::Streaming {
        return Vec::new();
    }
    let mut open = BTreeMap::new();
    for block in &turn.blocks {
        note(&block.block.content, &mut open);
    }
    open.into_values()
        .flat_map(|call| call.waiting.into_values())
        .collect()
}

/// A call without a result.
struct OpenCall<'a> {
    tool_call_id: &'a crate::ToolCallId,
    tool: &'a str,
    arguments: &'a str,
    label: Option<&'a str>,
    waiting: BTreeMap<Waiting, Pending>,
}

/// What is waited for of one call, in the order in which it is listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Waiting {
    Approval,
    Question(u32),
    Result,
}

impl OpenCall<'_> {
    fn call(&self) -> PendingCall {
        let raw = match self.arguments.trim() {
            "" => "{}",
            raw => raw,
        };
        PendingCall {
            tool_call_id: self.tool_call_id.clone(),
            tool: self.tool.to_owned(),
            arguments: serde_json::from_str(raw).unwrap_or(Value::Null),
            label: self.label.map(str::to_owned),
        }
    }
}

fn note<'a>(content: &'a BlockContent, open: &mut BTreeMap<CallKey, OpenCall<'a>>) {
    match content {
        BlockContent::ToolUse {
            call,
            tool_call_id,
            name,
            arguments,
            label,
            ..
        } => {
            let call_of = OpenCall {
                tool_call_id,
                tool: name,
                arguments,
                label: label.as_deref(),
                waiting: BTreeMap::new(),
            };
            open.insert(*call, call_of);
        }
        BlockContent::ToolResult { call, .. } => drop(open.remove(call)),
        BlockContent::HooksPassed {
            call,
            arguments: Some(arguments),
        } => {
            if let Some(open) = open.get_mut(call) {
                open.arguments = arguments;
            }
        }
        BlockContent::ApprovalAsked {
            call,
            schema,
            deadline,
        } => wait(open, *call, Waiting::Approval, |call| {
            call.approval(schema.clone(), *deadline)
        }),
        BlockContent::Approval { call, decision } => {
            if let Some(open) = open.get_mut(call) {
                open.waiting.remove(&Waiting::Approval);
                if let crate::run::Decision::Edited { arguments } = decision {
                    open.arguments = arguments;
                }
            }
        }
        BlockContent::QuestionAsked {
            call,
            number,
            question,
            deadline,
        } => {
            let question: &Question = question;
            wait(open, *call, Waiting::Question(*number), |call| {
                call.question(*number, question.clone(), *deadline)
            });
        }
        BlockContent::Answer { call, number, .. } => {
            if let Some(open) = open.get_mut(call) {
                open.waiting.remove(&Waiting::Question(*number));
            }
        }
        BlockContent::Deferred { call, deadline } => {
            // The tool has ended, and asks nothing any more.
            if let Some(open) = open.get_mut(call) {
                open.waiting.clear();
            }
            wait(open, *call, Waiting::Result, |call| call.result(*deadline));
        }
        _ => {}
    }
}

fn wait(
    open: &mut BTreeMap<CallKey, OpenCall<'_>>,
    call: CallKey,
    waiting: Waiting,
    pending: impl FnOnce(PendingCall) -> Pending,
) {
    if let Some(open) = open.get_mut(&call) {
        let pending = pending(open.call());
        open.waiting.insert(waiting, pending);
    }
}
