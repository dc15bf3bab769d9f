//! The state that the turns of a thread share with their user. It is stored only as the calls of [`CHANGE_STATE`] on
//! the path.

use crate::turn::shared_state::{CHANGE_STATE, SharedState};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use stepwell_core::ToolCallId;
use stepwell_core::event::Event;
use stepwell_core::run::BlockContent;
use stepwell_core::session::Turn;
use stepwell_core::tool::parse_arguments;
use stepwell_io::store::{Store, TurnKey};
use stepwell_io::tool::{ToolContext, ToolHandler, ToolInvocation};
use tokio::sync::OnceCell;

/// Returns the handler for the calls of [`CHANGE_STATE`] in a turn. The state is read when the first of them comes.
pub(crate) fn changes(store: &Arc<dyn Store>, turn: &TurnKey) -> impl ToolHandler {
    let state = Arc::new(OnceCell::new());
    let (store, turn) = (Arc::clone(store), turn.clone());
    move |call: ToolContext| {
        let (state, store, turn) = (Arc::clone(&state), Arc::clone(&store), turn.clone());
        async move {
            let read = || async { store.path(&turn).await.map(|path| of_path(&path)) };
            let state: &SharedState = state.get_or_try_init(read).await.map_err(|error| {
                tracing::warn!(target: "stepwell", %turn, %error, "the state cannot be read");
                "the state cannot be read now: ask again in a while".to_owned()
            })?;
            let changed = state.change(&call);
            // A follower of the turn sees the calls.
            drop(state.untold());
            changed
        }
    }
}

/// Brings a state to where the run under way has changed it, as far as the client has received its events. Later
/// changes are reported here.
pub(crate) fn catch_up(state: &SharedState, told: &[Event], path: &[Turn]) {
    let begin = told
        .iter()
        .rposition(|event| matches!(event, Event::RunStarted(_)));
    let run = &told[begin.unwrap_or(0)..];
    for event in run {
        state.follow(event);
    }
    let is_told = |call: &ToolCallId| {
        told.iter().any(|event| match event {
            Event::ToolCallResult(result) => result.tool_call_id == *call,
            _ => false,
        })
    };
    for (id, change) in path.last().into_iter().flat_map(changes_of) {
        if !is_told(&id) {
            let _ = state.change(&change);
        }
    }
}

/// The state at the end of a path.
fn of_path(path: &[Turn]) -> SharedState {
    let state = SharedState::new(json!({}));
    for (_, change) in path.iter().flat_map(changes_of) {
        // A change that was accepted once is accepted again.
        let _ = state.change(&change);
    }
    drop(state.untold());
    state
}

/// The calls of a turn that have changed the state, in the order in which they were run.
fn changes_of(turn: &Turn) -> Vec<(ToolCallId, ToolInvocation)> {
    let mut calls = HashMap::new();
    let mut changes = Vec::new();
    for block in turn.blocks.iter().map(|block| &block.block.content) {
        match block {
            BlockContent::ToolUse {
                call,
                tool_call_id,
                name,
                arguments,
                ..
            } if name == CHANGE_STATE => {
                calls.insert(*call, (tool_call_id, arguments));
            }
            BlockContent::ToolResult {
                call,
                is_error: false,
                ..
            } => {
                let Some((tool_call_id, raw)) = calls.remove(call) else {
                    continue;
                };
                let Ok(value) = parse_arguments(raw) else {
                    continue;
                };
                let change = ToolInvocation {
                    call: *call,
                    tool_call_id: tool_call_id.clone(),
                    ..ToolInvocation::new(CHANGE_STATE, value)
                };
                changes.push((tool_call_id.clone(), change));
            }
            _ => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::event::MessageContent;
    use stepwell_core::run::{Block, TurnStatus};
    use stepwell_core::session::TurnBlock;
    use stepwell_core::{CallKey, Timestamp};

    /// A turn with these calls: what they change, and whether it was taken.
    fn turn(calls: &[(serde_json::Value, bool)]) -> Turn {
        let mut blocks = Vec::new();
        for (index, (changes, is_taken)) in (0..).zip(calls) {
            let call = CallKey { hop: 0, index };
            let used = BlockContent::ToolUse {
                call,
                tool_call_id: "c".into(),
                name: CHANGE_STATE.to_owned(),
                arguments: json!({ "changes": changes }).to_string(),
                parent: None,
                label: None,
                encrypted_value: None,
                metadata: None,
            };
            let result = BlockContent::ToolResult {
                call,
                tool_call_id: "c".into(),
                content: MessageContent::default(),
                is_error: !is_taken,
                message_id: None,
                failure: None,
                attached: Default::default(),
            };
            blocks.extend([used, result]);
        }
        let blocks = (0..).zip(blocks).map(|(sequence, content)| TurnBlock {
            block: Block {
                sequence,
                hop: 0,
                content,
            },
            at: Timestamp(0),
        });
        Turn {
            id: "r".into(),
            parent: None,
            history: None,
            message: None,
            status: TurnStatus::Complete,
            outcome: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            blocks: blocks.collect(),
        }
    }

    #[test]
    fn the_state_is_what_the_calls_of_the_path_have_made_of_it() {
        let add = |path: &str, value: i32| json!([{"op": "add", "path": path, "value": value}]);
        let path = [
            turn(&[(add("/a", 1), true), (add("/b", 2), false)]),
            turn(&[
                (add("/c", 3), true),
                (json!([{"op": "remove", "path": "/a"}]), true),
            ]),
        ];
        assert_eq!(of_path(&path).value(), json!({"c": 3}));
        assert_eq!(of_path(&[]).value(), json!({}));
    }
}
