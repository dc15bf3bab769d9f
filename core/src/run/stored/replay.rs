//! From stored blocks back to the conversation.

use super::error::SessionError;
use super::turn::{Turn, in_sequence};
use crate::event::{
    AssistantMessage, Message, MessageContent, ReasoningMessage, ToolCall, ToolMessage,
};
use crate::run::protocol::{Attached, Block, BlockContent, TurnStatus};
use crate::tool::ToolFailure;
use crate::transcript::Transcript;
use crate::{CallKey, MessageId, RunId, ToolCallId};
use std::collections::{BTreeMap, BTreeSet};

/// The result that the model gets for a call whose result was not stored.
const UNKNOWN: &str = "the app stopped while the tool ran: whether it did its work is not known";

/// Rebuilds the conversation of a path of turns, the oldest first. Calls of an unfinished turn get a result, unless
/// they should stay open.
pub(crate) fn replay<'a>(
    path: impl IntoIterator<Item = &'a Turn>,
    keeps_open_calls: bool,
) -> Result<Transcript, SessionError> {
    let mut transcript = Transcript::default();
    let mut before: Option<&RunId> = None;
    for (at, turn) in path.into_iter().enumerate() {
        in_sequence(turn)?;
        if at > 0 && turn.parent.as_ref() != before {
            let turn = turn.id.clone();
            return Err(SessionError::NotAPath { turn });
        }
        before = Some(&turn.id);
        if let Some(history) = &turn.history {
            transcript = history.transcript();
        }
        if let Some(message) = &turn.message
            && !is_empty(turn)
        {
            transcript.make_way_for(message);
        }
        let replay = replay_turn(turn, &mut transcript)?;
        if !keeps_open_calls {
            replay.end();
        }
    }
    Ok(transcript)
}

/// Adds what is stored of a turn. A call may be without a result, if the turn is not over: see [`Replay::end`].
pub(crate) fn replay_turn<'a>(
    turn: &'a Turn,
    transcript: &'a mut Transcript,
) -> Result<Replay<'a>, SessionError> {
    let mut replay = Replay::new(turn, transcript);
    if is_empty(turn) {
        return Ok(replay);
    }
    // A message that the conversation has already is not added again, as by the run.
    if let Some(message) = &turn.message {
        let _ = replay.transcript.push(message.clone());
    }
    replay.transcript.put_usage(Vec::new());
    for block in &turn.blocks {
        replay.block(&block.block)?;
    }
    Ok(replay)
}

/// A turn as it is known without its machine.
pub(crate) struct Rebuilt {
    /// The conversation, but for the results of the live calls.
    pub(crate) transcript: Transcript,
    /// The results that the model got for live calls that have ended.
    pub(crate) results: BTreeMap<CallKey, StoredResult>,
}

/// The part of a call's result that a block has.
pub(crate) struct StoredResult {
    pub(crate) content: MessageContent,
    pub(crate) failure: Option<ToolFailure>,
}

/// Rebuilds the conversation of a turn that has begun, from the history before it, the turn's stored blocks, and the
/// blocks in `wait`, which are not stored yet. The results of the calls in `live` are left out.
///
/// # Errors
/// The blocks do not fit together.
pub(crate) fn rebuild(
    history: Transcript,
    turn: &Turn,
    wait: &[Block],
    live: &BTreeSet<CallKey>,
) -> Result<Rebuilt, SessionError> {
    in_sequence(turn)?;
    let mut transcript = match &turn.history {
        Some(history) => history.transcript(),
        None => history,
    };
    if let Some(message) = &turn.message {
        transcript.make_way_for(message);
        // A message that the conversation has already is not added again, as by the run.
        let _ = transcript.push(message.clone());
    }
    let mut results = BTreeMap::new();
    let mut replay = Replay::new(turn, &mut transcript);
    for block in turn.blocks.iter().map(|block| &block.block).chain(wait) {
        match &block.content {
            BlockContent::ToolResult {
                call,
                content,
                failure,
                ..
            } if live.contains(call) => {
                let content = content.clone();
                let failure = failure.clone();
                results.insert(*call, StoredResult { content, failure });
            }
            _ => replay.block(block)?,
        }
    }
    Ok(Rebuilt {
        transcript,
        results,
    })
}

/// Returns whether the turn has no messages: it failed before it began.
fn is_empty(turn: &Turn) -> bool {
    let is_silent = |message: &Message| match message {
        Message::User(message) => match &message.content {
            MessageContent::Text(text) => text.trim().is_empty(),
            MessageContent::Parts(parts) => parts.is_empty(),
        },
        _ => false,
    };
    turn.blocks.is_empty() && turn.message.as_ref().is_none_or(is_silent)
}

/// A turn that is replayed.
pub(crate) struct Replay<'a> {
    turn: &'a Turn,
    transcript: &'a mut Transcript,
    hop: u32,
    /// The hop's last message of the model's, for blocks that do not say whose a call is.
    speaker: Option<MessageId>,
    /// The hop's calls that have no result yet.
    asked: Vec<(CallKey, ToolCallId)>,
}

impl<'a> Replay<'a> {
    fn new(turn: &'a Turn, transcript: &'a mut Transcript) -> Self {
        Self {
            turn,
            transcript,
            hop: 0,
            speaker: None,
            asked: Vec::new(),
        }
    }
}

impl Replay<'_> {
    fn block(&mut self, block: &Block) -> Result<(), SessionError> {
        self.enter_hop(block.hop);
        match &block.content {
            BlockContent::Text {
                message_id,
                text,
                attached,
            } => self.piece(message_id, text, attached, false),
            BlockContent::Reasoning {
                message_id,
                text,
                attached,
            } => self.piece(message_id, text, attached, true),
            BlockContent::ToolUse {
                call,
                tool_call_id,
                name,
                arguments,
                parent,
                encrypted_value,
                metadata,
                ..
            } => {
                let mut asked =
                    ToolCall::new(tool_call_id.clone(), name.clone(), arguments.clone());
                asked.encrypted_value.clone_from(encrypted_value);
                asked.metadata.clone_from(metadata);
                self.call(*call, parent.as_ref(), asked);
            }
            BlockContent::ToolResult {
                call,
                tool_call_id,
                content,
                is_error,
                message_id,
                failure,
                attached,
            } => {
                let id = message_id.clone();
                let id = id.unwrap_or_else(|| self.result_id(*call));
                let error = failure.as_ref().map(|failure| failure.message.clone());
                let result = ToolMessage {
                    id,
                    tool_call_id: tool_call_id.clone(),
                    content: content.clone(),
                    error: error.or_else(|| is_error.then(|| content.to_text())),
                    ..ToolMessage::default()
                };
                self.result(*call, result, attached);
            }
            BlockContent::Steering { message } => {
                let _ = self.transcript.push((**message).clone());
            }
            BlockContent::Message { message } => self.transcript.put((**message).clone()),
            BlockContent::Messages { after, messages } => {
                let is_known = self.transcript.rewrite(after.as_ref(), messages.clone());
                return self.holds(is_known, block, after.as_ref());
            }
            BlockContent::State { state } => self.transcript.put_state(state.clone()),
            BlockContent::Usage { usage } => self.transcript.put_usage(usage.clone()),
            BlockContent::Compacted { compaction, .. } => {
                self.transcript.set_compaction(compaction.clone());
            }
            BlockContent::HooksPassed { .. }
            | BlockContent::ApprovalAsked { .. }
            | BlockContent::Approval { .. }
            | BlockContent::QuestionAsked { .. }
            | BlockContent::Answer { .. }
            | BlockContent::Deferred { .. }
            | BlockContent::Resumed { .. }
            | BlockContent::ModelChanged { .. }
            | BlockContent::AnswerStored { .. } => {}
        }
        Ok(())
    }

    fn enter_hop(&mut self, hop: u32) {
        if hop != self.hop {
            self.hop = hop;
            self.speaker = None;
            self.asked.clear();
        }
    }

    fn result(&mut self, call: CallKey, result: ToolMessage, attached: &Attached) {
        let mut result = Message::Tool(result);
        attached.attach(&mut result);
        self.asked.retain(|(asked, _)| *asked != call);
        self.answer(result);
    }

    /// Adds a call to the message that it belongs to: the given one, the last one that spoke, or one of its own.
    fn call(&mut self, key: CallKey, parent: Option<&MessageId>, asked: ToolCall) {
        let parent = parent.or(self.speaker.as_ref()).cloned();
        let parent = parent.unwrap_or_else(|| MessageId::from(asked.id.as_str()));
        self.asked.push((key, asked.id.clone()));
        self.transcript.put_call(&parent, asked);
        self.speaker = Some(parent);
    }

    fn result_id(&self, call: CallKey) -> MessageId {
        let index = usize::try_from(call.index).unwrap_or(usize::MAX);
        MessageId::of_result(&self.run_id(call.hop), index)
    }

    fn holds(
        &self,
        is_known: bool,
        block: &Block,
        after: Option<&MessageId>,
    ) -> Result<(), SessionError> {
        if is_known {
            return Ok(());
        }
        Err(SessionError::UnknownMessage {
            turn: self.turn.id.clone(),
            sequence: block.sequence,
            message: after.cloned().unwrap_or_default(),
        })
    }

    fn piece(&mut self, id: &MessageId, text: &str, attached: &Attached, is_reasoning: bool) {
        if self.transcript.message(id).is_none() {
            let id = id.clone();
            let _ = self.transcript.push(if is_reasoning {
                Message::Reasoning(ReasoningMessage {
                    id,
                    ..ReasoningMessage::default()
                })
            } else {
                Message::Assistant(AssistantMessage {
                    id,
                    ..AssistantMessage::default()
                })
            });
        }
        let Some(message) = self.transcript.message_mut(id) else {
            return;
        };
        match message {
            Message::Assistant(message) => {
                message.content.get_or_insert_default().push_str(text);
                self.speaker = Some(id.clone());
            }
            Message::Reasoning(message) => message.content.push_str(text),
            // No run records text for other messages: the message stays as it is.
            _ => return,
        }
        if let Some(message) = self.transcript.message_mut(id) {
            attached.attach(message);
        }
    }

    /// Inserts a result after its call, in the order of the calls, whichever came first.
    fn answer(&mut self, result: Message) {
        let is_there = match (self.transcript.message(result.id()), &result) {
            (Some(Message::Tool(there)), Message::Tool(result)) => {
                there.tool_call_id == result.tool_call_id
            }
            _ => false,
        };
        if is_there {
            self.transcript.put(result);
        } else {
            self.transcript.insert_result(result);
        }
    }

    /// Ends the stored part of the turn. If the turn is unfinished, each open call gets a result.
    pub(crate) fn end(mut self) {
        if self.turn.status != TurnStatus::Streaming {
            return;
        }
        let run_id = self.run_id(self.hop);
        for (call, tool_call_id) in std::mem::take(&mut self.asked) {
            let index = usize::try_from(call.index).unwrap_or(usize::MAX);
            self.answer(Message::Tool(ToolMessage {
                id: MessageId::of_result(&run_id, index),
                tool_call_id,
                content: UNKNOWN.into(),
                error: Some(UNKNOWN.to_owned()),
                ..ToolMessage::default()
            }));
        }
    }

    /// The run of a hop, unless the backend named it itself.
    fn run_id(&self, hop: u32) -> RunId {
        match hop {
            0 => self.turn.id.clone(),
            hop => format!("{}.{hop}", self.turn.id).into(),
        }
    }
}
