//! A turn that waited for the user goes on, with what they said and what the client's tools gave meanwhile.

use crate::run::open_turn::{Held, OpenTurn, Running};
use crate::turn::answers::Answers;
use crate::turn::asking::Asking;
use crate::turn::rounds::Rounds;
use crate::turn::shared_state::SharedState;
use std::collections::{HashMap, HashSet};
use stepwell_core::ToolCallId;
use stepwell_core::event::{RunAgentInput, TokenUsage, ToolMessage};
use stepwell_io::{
    Agent, Decision, Message, ResumeEntry, ToolCallStatus, ToolFailure, ToolOutput, ToolResult,
    Turn, TurnHandle,
};
use tokio::sync::mpsc;

/// A turn that is about to be driven.
pub(crate) struct Work {
    pub(crate) turn: Turn,
    /// What it had cost, which earlier runs have reported.
    pub(crate) before: TokenUsage,
    /// What the user has said of calls that ask to run, once the turn asks them again.
    pub(crate) decisions: HashMap<ToolCallId, Decision>,
    /// What its tools ask the user.
    pub(crate) asked: mpsc::UnboundedReceiver<Asking>,
    /// The state that it shares with its client.
    pub(crate) state: SharedState,
}

impl Work {
    /// Goes on with a turn. `asked` and `state` are those of the run's own agent, for a turn that it revives.
    pub(crate) async fn resumed(
        open: OpenTurn,
        mut answers: Answers,
        asked: mpsc::UnboundedReceiver<Asking>,
        state: SharedState,
        agent: &Agent,
        input: &RunAgentInput,
        rounds: &mut Rounds,
    ) -> Option<Self> {
        let forwarded = std::mem::take(&mut answers.forwarded);
        match open.held {
            Held::Suspended(snapshot) => {
                let revived = agent.revive(&snapshot);
                let revived = revived.inspect_err(|error| {
                    tracing::error!(target: "stepwell", %error, "a turn cannot be revived");
                });
                let turn = revived.ok()?;
                bring(&turn.handle(), input, forwarded, rounds).await?;
                Some(Self {
                    turn,
                    before: open.usage,
                    decisions: answers.decisions,
                    asked,
                    state,
                })
            }
            Held::Running(running) => {
                let Running {
                    turn,
                    mut questions,
                    asked,
                    state: its_own,
                    ..
                } = *running;
                its_own.replace(state.value());
                bring(&turn.handle(), input, forwarded, rounds).await?;
                let entries = input.resume.as_deref().unwrap_or_default();
                questions.close(entries, &mut answers);
                Some(Self {
                    turn,
                    before: open.usage,
                    decisions: HashMap::new(),
                    asked,
                    state: its_own,
                })
            }
            Held::Stopped => None,
        }
    }
}

/// Brings what the client's tools gave, and what the user said to the agent.
async fn bring(
    handle: &TurnHandle,
    input: &RunAgentInput,
    forwarded: Vec<ResumeEntry>,
    rounds: &mut Rounds,
) -> Option<()> {
    let Ok(stands) = handle.conversation().await else {
        // It came to its end by itself, which its events tell.
        return Some(());
    };
    let deferred = stands.calls().iter();
    let deferred = deferred.filter(|call| call.status == ToolCallStatus::Deferred);
    let deferred: HashSet<_> = deferred.map(|call| &call.id).collect();
    for message in &input.messages {
        // Most results are of calls that were answered long ago, and a question is not answered by a result.
        if let Message::Tool(message) = message
            && deferred.contains(&message.tool_call_id)
        {
            rounds.is_known(&message.tool_call_id);
            bring_result(handle, message).await;
        }
    }
    if !forwarded.is_empty()
        && let Err(error) = handle.resume(forwarded).await
    {
        tracing::error!(target: "stepwell", %error, "the agent's questions cannot be answered");
        return None;
    }
    Some(())
}

/// Brings what the client's tool gave.
async fn bring_result(handle: &TurnHandle, message: &ToolMessage) {
    let result: ToolResult = match &message.error {
        Some(error) => Err(ToolFailure::error(error)),
        None => Ok(ToolOutput {
            content: message.content.clone(),
        }),
    };
    let call = message.tool_call_id.clone();
    if let Err(error) = handle.finish_call(call, result).await {
        tracing::debug!(target: "stepwell", %error, "a result was not taken");
    }
}
