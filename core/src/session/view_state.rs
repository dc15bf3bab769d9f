//! The data of a view: the conversation as it was shown, its turns, and the state of its calls.

use super::title::title;
use super::view::{
    ActivityView, MessageView, Role, SessionView, ToolExecution, TurnView, ViewOptions,
};
use crate::event::{AssistantMessage, Message, MessageContent, ToolCall};
use crate::run::{
    Block, BlockContent, Decision, Pending, PendingKind, SessionError, StoredTurn as Turn,
    TextOptions, TurnStatus, in_sequence, is_correction, is_cut, replay_turn,
};
use crate::tool::{ToolFailureKind, ToolResult};
use crate::transcript::{ToolCallStatus, Transcript, without_edited_note};
use crate::{CallKey, MessageId, RunId, Timestamp, ToolCallId};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct ViewState {
    pub(super) transcript: Transcript,
    pub(super) turns: Vec<TurnState>,
    /// The index of the turn that brought each message.
    brought: BTreeMap<MessageId, usize>,
    /// An agent has replaced some messages: new ones may be anywhere.
    pub(super) is_rewritten: bool,
    executions: BTreeMap<Asked, Execution>,
    /// The calls by their places.
    calls: BTreeMap<(RunId, CallKey), Asked>,
    /// The message that last asked for each call id, according to the blocks: the conversation may be ahead of the
    /// store.
    stored: BTreeMap<ToolCallId, MessageId>,
}

#[derive(Clone, Debug)]
pub(super) struct TurnState {
    pub(super) view: TurnView,
    /// The turn's text arrived as shown, not as written.
    pub(super) is_live: bool,
}

/// A call: the message that asks for it, and its id, which may be used again elsewhere.
type Asked = (MessageId, ToolCallId);

/// Results by their calls, and whether they are errors.
type Answers<'a> = BTreeMap<(&'a MessageId, &'a ToolCallId), (&'a MessageContent, bool)>;

/// The status of a call.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    label: Option<String>,
    status: ToolCallStatus,
    at: Timestamp,
    /// The arguments that the call ran with, if they are not the model's. Its stored result begins with a note to the model.
    edited: Option<String>,
    result: Option<MessageContent>,
}

impl ViewState {
    pub(super) fn of(transcript: Transcript) -> Self {
        Self {
            transcript,
            ..Self::default()
        }
    }

    /// Adds a stored turn.
    pub(super) fn add(&mut self, turn: &Turn) -> Result<(), SessionError> {
        in_sequence(turn)?;
        let before = self.turns.last().map(|turn| &turn.view.id);
        if !self.turns.is_empty() && turn.parent.as_ref() != before {
            let turn = turn.id.clone();
            return Err(SessionError::NotAPath { turn });
        }
        self.turns.push(TurnState {
            view: TurnView {
                id: turn.id.clone(),
                parent: turn.parent.clone(),
                status: turn.status,
                outcome: turn.outcome.clone(),
                created_at: turn.created_at,
                updated_at: turn.updated_at,
            },
            is_live: false,
        });
        if let Some(history) = &turn.history {
            self.transcript = history.transcript();
        }
        // A call without a result is shown as it is.
        let _ = replay_turn(turn, &mut self.transcript)?;
        let mut blocks = turn.blocks.iter().map(|block| &block.block.content);
        self.is_rewritten = blocks.any(|content| {
            matches!(
                content,
                BlockContent::Message { .. } | BlockContent::Messages { .. }
            )
        });
        self.note_messages();
        for block in &turn.blocks {
            self.note_block(&turn.id, &block.block, block.at);
        }
        Ok(())
    }

    /// Messages that are new are the last turn's.
    pub(super) fn note_messages(&mut self) {
        let Some(turn) = self.turns.len().checked_sub(1) else {
            return;
        };
        let is_rewritten = std::mem::take(&mut self.is_rewritten);
        for message in self.transcript.messages().iter().rev() {
            let id = message.id();
            match self.brought.get(id) {
                None => drop(self.brought.insert(id.clone(), turn)),
                Some(before) if *before != turn && !is_rewritten => break,
                Some(_) => {}
            }
        }
    }

    /// Notes the part of a stored block that concerns a call.
    pub(super) fn note_block(&mut self, turn: &RunId, block: &Block, at: Timestamp) {
        let (call, tool_call_id) = match &block.content {
            BlockContent::ToolUse {
                call,
                tool_call_id,
                parent,
                label,
                ..
            } => {
                let owner = parent.clone();
                let owner = owner.or_else(|| self.transcript.owner(tool_call_id).cloned());
                if let Some(owner) = owner {
                    let asked = (owner, tool_call_id.clone());
                    self.calls.insert((turn.clone(), *call), asked.clone());
                    self.note_call(asked, label.as_ref(), at);
                }
                return;
            }
            BlockContent::ToolResult {
                call, tool_call_id, ..
            } => (call, Some(tool_call_id)),
            BlockContent::HooksPassed { call, .. }
            | BlockContent::ApprovalAsked { call, .. }
            | BlockContent::Approval { call, .. }
            | BlockContent::QuestionAsked { call, .. }
            | BlockContent::Deferred { call, .. }
            | BlockContent::Answer { call, .. } => (call, None),
            BlockContent::Message { message } => {
                self.note_stored(message, at);
                return;
            }
            BlockContent::Messages { messages, .. } => {
                for message in messages {
                    self.note_stored(message, at);
                }
                return;
            }
            _ => return,
        };
        let Some(execution) = self.execution_at(turn, *call, tool_call_id, at) else {
            return;
        };
        execution.at = at;
        match &block.content {
            BlockContent::Approval {
                decision: Decision::Edited { arguments },
                ..
            }
            | BlockContent::HooksPassed {
                arguments: Some(arguments),
                ..
            } => execution.edited = Some(arguments.clone()),
            BlockContent::Deferred { .. } if !execution.status.is_final() => {
                execution.status = ToolCallStatus::Deferred;
            }
            BlockContent::ToolResult {
                content,
                is_error,
                failure,
                ..
            } => {
                execution.result = Some(match (failure, &execution.edited) {
                    (Some(failure), _) => failure.message.as_str().into(),
                    (None, Some(edited)) => without_edited_note(content.clone(), edited),
                    (None, None) => content.clone(),
                });
                execution.status = match failure {
                    Some(failure) => status_of(failure.kind),
                    None if *is_error => ToolCallStatus::Failed,
                    None => ToolCallStatus::Completed,
                };
            }
            _ => {}
        }
    }

    fn note_call(&mut self, asked: (MessageId, ToolCallId), label: Option<&String>, at: Timestamp) {
        let (owner, call) = asked.clone();
        self.stored.insert(call, owner);
        let execution = self.execution(asked, at);
        execution.label = label.cloned();
        execution.at = at;
    }

    /// Notes a stored message: the calls in it, or the result of one.
    fn note_stored(&mut self, message: &Message, at: Timestamp) {
        match message {
            Message::Assistant(said) => {
                for call in &said.tool_calls {
                    self.stored.insert(call.id.clone(), said.id.clone());
                    self.execution((said.id.clone(), call.id.clone()), at).at = at;
                }
            }
            Message::Tool(result) => {
                let id = &result.tool_call_id;
                if let Some(owner) = self.stored.get(id).cloned() {
                    self.execution((owner, id.clone()), at).at = at;
                }
            }
            _ => {}
        }
    }

    /// Notes the status of a call. Returns the message that asks for the call.
    pub(super) fn note_status(
        &mut self,
        turn: &RunId,
        call: CallKey,
        tool_call_id: &ToolCallId,
        status: ToolCallStatus,
        result: Option<&ToolResult>,
        now: Timestamp,
    ) -> Option<MessageId> {
        if let Some(execution) = self.execution_at(turn, call, Some(tool_call_id), now) {
            execution.at = now;
            execution.status = status;
            if let Some(result) = result {
                execution.result = Some(match result {
                    Ok(output) => output.content.clone(),
                    Err(failure) => failure.message.as_str().into(),
                });
            }
        }
        let (owner, _) = self.calls.get(&(turn.clone(), call))?;
        Some(owner.clone())
    }

    /// Notes that a call of a stored turn waits: it is shown as it was while its host drove the turn.
    pub(super) fn note_pending(&mut self, pending: &Pending) {
        let call = &pending.tool_call_id;
        let Some(owner) = self.transcript.owner(call).cloned() else {
            return;
        };
        let execution = self.executions.get_mut(&(owner, call.clone()));
        if let Some(execution) = execution.filter(|execution| !execution.status.is_final()) {
            execution.status = match pending.kind {
                PendingKind::Approval => ToolCallStatus::AwaitingApproval,
                PendingKind::Question => ToolCallStatus::Executing,
                PendingKind::Result => ToolCallStatus::Deferred,
            };
        }
    }

    /// Notes that an agent has answered a call itself. The result is in the conversation, where the agent may change
    /// it.
    pub(super) fn note_answer(&mut self, tool_call_id: &ToolCallId, now: Timestamp) {
        if let Some(owner) = self.transcript.owner(tool_call_id).cloned() {
            let execution = self.execution((owner, tool_call_id.clone()), now);
            if execution.result.is_none() {
                execution.at = now;
            }
        }
    }

    fn execution(&mut self, asked: Asked, at: Timestamp) -> &mut Execution {
        self.executions.entry(asked).or_insert(Execution {
            label: None,
            status: ToolCallStatus::Pending,
            at,
            edited: None,
            result: None,
        })
    }

    fn execution_at(
        &mut self,
        turn: &RunId,
        call: CallKey,
        tool_call_id: Option<&ToolCallId>,
        at: Timestamp,
    ) -> Option<&mut Execution> {
        let place = (turn.clone(), call);
        let asked = match self.calls.get(&place) {
            Some(asked) => asked.clone(),
            None => {
                let id = tool_call_id?;
                let asked = (self.transcript.owner(id)?.clone(), id.clone());
                self.calls.insert(place, asked.clone());
                asked
            }
        };
        Some(self.execution(asked, at))
    }

    /// Returns whether the turn of a message runs, or ran, in this process: its text arrived as shown.
    pub(super) fn is_live(&self, message: &MessageId) -> bool {
        let turn = self.brought.get(message);
        let turn = turn.and_then(|turn| self.turns.get(*turn));
        turn.is_some_and(|turn| turn.is_live)
    }

    /// Returns the messages for the user.
    pub(super) fn messages(&self, options: &ViewOptions) -> Vec<MessageView> {
        let answers = self.answers();
        (0..self.transcript.messages().len())
            .filter_map(|at| self.message(at, &answers, options))
            .collect()
    }

    /// Returns one message of the conversation for the user, without a look at those before it.
    pub(super) fn message_at(&self, at: usize, options: &ViewOptions) -> Option<MessageView> {
        self.message(at, &self.answers_to(at), options)
    }

    /// Returns the view for the user.
    pub(super) fn view(&self, options: &ViewOptions) -> SessionView {
        let messages = self.transcript.messages();
        let turns = self.turns.iter().map(|turn| &turn.view);
        SessionView {
            title: title(messages),
            created_at: turns
                .clone()
                .map(|turn| turn.created_at)
                .min()
                .unwrap_or_default(),
            updated_at: turns
                .clone()
                .map(|turn| turn.updated_at)
                .max()
                .unwrap_or_default(),
            turns: turns.cloned().collect(),
            messages: self.record(options),
        }
    }

    /// Returns the messages as the conversation has them: the result of a call whose arguments the user edited has the
    /// note to the model, as it is for an AG-UI client.
    fn record(&self, options: &ViewOptions) -> Vec<MessageView> {
        let answers = self.answers();
        let mut record = self.messages(options);
        for message in &mut record {
            for call in &mut message.tool_executions {
                let asked = (message.id.clone(), call.tool_id.clone());
                let known = self.executions.get(&asked);
                if known.is_some_and(|known| known.edited.is_some())
                    && let Some((content, _)) = answers.get(&(&message.id, &call.tool_id))
                {
                    call.result = Some((*content).clone());
                }
            }
        }
        record
    }

    /// The results that are in the conversation, by their calls.
    fn answers(&self) -> Answers<'_> {
        let mut asked: BTreeMap<&ToolCallId, &MessageId> = BTreeMap::new();
        let mut answers = Answers::new();
        for message in self.transcript.messages() {
            match message {
                // A provider may use an id again: the last one that asked under it is meant.
                Message::Assistant(said) => {
                    asked.extend(said.tool_calls.iter().map(|call| (&call.id, &said.id)));
                }
                Message::Tool(result) => {
                    let id = &result.tool_call_id;
                    if let Some(owner) = asked.get(id) {
                        let answer = (&result.content, result.error.is_some());
                        answers.entry((owner, id)).or_insert(answer);
                    }
                }
                _ => {}
            }
        }
        answers
    }

    /// The results of the calls of one message.
    fn answers_to(&self, at: usize) -> Answers<'_> {
        let mut answers = Answers::new();
        let messages = self.transcript.messages();
        let Some(Message::Assistant(said)) = messages.get(at) else {
            return answers;
        };
        let mut calls: Vec<&ToolCallId> = said.tool_calls.iter().map(|call| &call.id).collect();
        for message in &messages[at + 1..] {
            if calls.is_empty() {
                break;
            }
            match message {
                Message::Assistant(later) => {
                    calls.retain(|id| later.tool_calls.iter().all(|call| call.id != **id));
                }
                Message::Tool(result) => {
                    let id = calls.iter().position(|id| **id == result.tool_call_id);
                    if let Some(id) = id {
                        let answer = (&result.content, result.error.is_some());
                        answers.insert((&said.id, calls.remove(id)), answer);
                    }
                }
                _ => {}
            }
        }
        answers
    }

    fn message(
        &self,
        at: usize,
        answers: &Answers<'_>,
        options: &ViewOptions,
    ) -> Option<MessageView> {
        let messages = self.transcript.messages();
        let message = &messages[at];
        let turn = self.brought.get(message.id());
        let turn = turn.and_then(|turn| self.turns.get(*turn));
        let timestamp = turn.map(|turn| turn.view.created_at).unwrap_or_default();
        let mut activity = None;
        let mut tool_executions = Vec::new();
        let metadata = match message {
            Message::Assistant(said) => said.metadata.as_ref(),
            Message::Reasoning(thought) => thought.metadata.as_ref(),
            _ => None,
        };
        let (role, content) = match message {
            // The app's own word to the model.
            _ if is_correction(message) => return None,
            Message::User(message) => (Role::User, message.content.clone()),
            Message::Reasoning(message) if !message.content.is_empty() => {
                (Role::Reasoning, message.content.as_str().into())
            }
            Message::Activity(message) => {
                activity = Some(ActivityView {
                    activity_type: message.activity_type.clone(),
                    content: message.content.clone(),
                });
                (Role::Activity, MessageContent::default())
            }
            Message::Assistant(said) => {
                let text = match turn {
                    Some(turn) if turn.is_live => &TextOptions::AS_WRITTEN,
                    _ => &options.text,
                };
                let text = text.shown_message(messages, at);
                if text.is_empty() && said.tool_calls.is_empty() {
                    return None;
                }
                let calls = said.tool_calls.iter();
                let calls = calls.map(|call| self.call(said, call, turn, answers, options));
                tool_executions.extend(calls);
                (Role::Assistant, text.into())
            }
            _ => return None,
        };
        Some(MessageView {
            id: message.id().clone(),
            turn: turn.map(|turn| turn.view.id.clone()),
            role,
            content,
            activity,
            tool_executions,
            cut: is_cut(metadata),
            timestamp,
        })
    }

    fn call(
        &self,
        said: &AssistantMessage,
        call: &ToolCall,
        turn: Option<&TurnState>,
        answers: &Answers<'_>,
        options: &ViewOptions,
    ) -> ToolExecution {
        let function = &call.function;
        let known = self.executions.get(&(said.id.clone(), call.id.clone()));
        let answer = answers.get(&(&said.id, &call.id));
        let status = match (known, answer) {
            (Some(known), _) if known.status.is_final() => known.status,
            // The call never ran.
            (_, Some((_, true))) if is_cut(said.metadata.as_ref()) => ToolCallStatus::Cancelled,
            (_, Some((_, true))) => ToolCallStatus::Failed,
            (_, Some((_, false))) => ToolCallStatus::Completed,
            // The agent need not report what it does with its own calls.
            _ if turn.is_none_or(|turn| turn.view.status != TurnStatus::Streaming) => {
                ToolCallStatus::Completed
            }
            (Some(known), None) => known.status,
            (None, None) => {
                // A later message may ask under the same id.
                let is_asked_here = self.transcript.owner(&call.id) == Some(&said.id);
                let live = self.transcript.call_by_id(&call.id);
                let live = live.filter(|_| is_asked_here);
                live.map_or(ToolCallStatus::Pending, |live| live.status)
            }
        };
        let result = known.and_then(|known| known.result.clone());
        let label = known.and_then(|known| known.label.clone());
        let began = turn.map(|turn| turn.view.created_at).unwrap_or_default();
        ToolExecution {
            tool_id: call.id.clone(),
            tool_name: function.name.clone(),
            label: label
                .unwrap_or_else(|| options.tools.label(&function.name, &function.arguments)),
            status,
            timestamp: known.map_or(began, |known| known.at),
            args: options
                .tools
                .parse(&function.name, &function.arguments)
                .unwrap_or_else(|_| Value::String(function.arguments.clone())),
            result: result.or_else(|| answer.map(|(content, _)| (*content).clone())),
        }
    }
}

fn status_of(failure: ToolFailureKind) -> ToolCallStatus {
    match failure {
        ToolFailureKind::Denied => ToolCallStatus::Denied,
        ToolFailureKind::Cancelled => ToolCallStatus::Cancelled,
        _ => ToolCallStatus::Failed,
    }
}
