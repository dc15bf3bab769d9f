//! The events of a turn.

use super::reducer::{ChatReducer, Staleness};
use super::{ChatCompaction, ChatConnection, ToolCardProgress};
use crate::event::{Event, EventRef, Interrupt, Message, REPLACED, ToolMessage};
use crate::run::{RunEvent, ToolCallUpdate, ToolProgress};
use crate::tool::one_line;
use crate::transcript::{Applied, Item};
use crate::{MessageId, Timestamp, ToolCallId};

/// The maximum number of characters of a progress message.
const MAX_PROGRESS_CHARS: usize = 200;

/// The maximum number of interrupts that wait for the user.
const MAX_INTERRUPTS: usize = 64;

impl ChatReducer {
    /// Applies an event of the turn under way.
    pub fn apply(&mut self, event: &RunEvent, now: Timestamp) {
        let Some(turn) = self.view.turns.last() else {
            return;
        };
        match event {
            RunEvent::AgUi(event) => self.apply_ag_ui(event, now),
            RunEvent::ToolCallUpdate(update) => {
                let turn = turn.view.id.clone();
                self.take_result(update);
                let owner = self.view.note_status(
                    &turn,
                    update.call,
                    &update.tool_call_id,
                    update.status,
                    update.result.as_ref(),
                    now,
                );
                self.note_progress_of(update);
                self.mark(owner);
            }
            RunEvent::HopStarted { hop, run_id } => {
                self.run_id = run_id.clone();
                self.view.transcript.begin_hop(*hop);
                self.remove_interrupts();
                self.connect(ChatConnection::Connecting);
            }
            RunEvent::SteeringTaken { message_id, .. } => {
                let place = self.typed.iter().position(|typed| typed.id() == message_id);
                if let Some(place) = place {
                    let message = self.typed.remove(place);
                    let _ = self.view.transcript.push(message);
                }
            }
            RunEvent::SteeringRefused { message, .. } => {
                self.typed.retain(|typed| typed.id() != message.id());
            }
            RunEvent::OutputRefused {
                correction: Some(message),
                ..
            } => {
                let _ = self.view.transcript.push((**message).clone());
            }
            RunEvent::Retrying {
                attempt,
                delay_ms,
                reason,
                ..
            } => self.connect(ChatConnection::WaitingToRetry {
                attempt: *attempt,
                at: Timestamp(now.0.saturating_add(*delay_ms)),
                reason: reason.clone(),
            }),
            RunEvent::WaitingForNetwork { up_to_ms } => self.connect(ChatConnection::Offline {
                until: Timestamp(now.0.saturating_add(*up_to_ms)),
            }),
            RunEvent::ContextTrimmed { compaction, .. } => {
                self.view.transcript.set_compaction(compaction.clone());
                self.chat.compaction = ChatCompaction::of(compaction);
                self.is_touched = true;
            }
            RunEvent::ModelChanged { .. } => self.connect(ChatConnection::Connecting),
            RunEvent::StreamResumed { .. } => self.connect(ChatConnection::Resuming),
            RunEvent::Pending { pending } => {
                self.chat.pending.clone_from(pending);
                self.is_touched = true;
            }
            RunEvent::Interrupted { interrupts } => self.interrupt(interrupts),
            RunEvent::ToolProgress(progress) => self.note_progress(progress),
            RunEvent::ToolPartialResult(partial) => {
                let overlay = self.overlays.entry(partial.tool_call_id.clone());
                overlay.or_default().partial_result = Some(partial.output.content.clone());
                self.mark_call(&partial.tool_call_id);
            }
            RunEvent::Completed(outcome) => self.end_with(outcome),
            _ => {}
        }
    }

    fn apply_ag_ui(&mut self, event: &Event, now: Timestamp) {
        if self.chat.connection != ChatConnection::Streaming {
            self.connect(ChatConnection::Streaming);
            self.remove_interrupts();
        }
        self.has_answer = true;
        if let Event::ToolCallStart(event) = event {
            // An id that is used again: the message that asked under it before shows another call.
            self.mark_call(&event.tool_call_id);
        }
        let applied = self.view.transcript.apply(EventRef::from(event));
        match event {
            Event::TextMessageContent(_) | Event::ReasoningMessageContent(_) => {
                if let Applied::Delta {
                    item: Item::Text(at) | Item::Reasoning(at),
                    ..
                } = applied
                {
                    self.mark_grown(at);
                }
            }
            Event::ToolCallArgs(event) => {
                self.note_arguments(&event.tool_call_id, Some(&event.delta));
                self.mark_call(&event.tool_call_id);
            }
            Event::ToolCallStart(event) => {
                self.arguments.remove(&event.tool_call_id);
                self.overlays.remove(&event.tool_call_id);
                self.mark_call(&event.tool_call_id);
            }
            Event::ToolCallEnd(event) => {
                self.arguments.remove(&event.tool_call_id);
                self.mark_call(&event.tool_call_id);
            }
            Event::ToolCallResult(result) => {
                self.view.note_answer(&result.tool_call_id, now);
                self.mark_call(&result.tool_call_id);
            }
            Event::MessagesSnapshot(_) => {
                self.view.is_rewritten = true;
                self.is_rebuilt = true;
            }
            Event::Custom(event) if event.name == REPLACED => {
                let text = |field: &str| event.value[field].as_str();
                if let Some(id) = text("messageId") {
                    self.mark(Some(id.into()));
                }
                if let Some(id) = text("toolCallId") {
                    let id = ToolCallId::from(id);
                    self.arguments.remove(&id);
                    self.note_arguments(&id, None);
                    self.mark_call(&id);
                }
            }
            Event::ActivitySnapshot(event) => self.mark(Some(event.message_id.clone())),
            Event::ActivityDelta(event) => self.mark(Some(event.message_id.clone())),
            Event::TextMessageEnd(event) => self.mark(Some(event.message_id.clone())),
            Event::ReasoningMessageEnd(event) => self.mark(Some(event.message_id.clone())),
            _ => {}
        }
    }

    /// Reads the next arguments of a call; all there are if it was not read before.
    fn note_arguments(&mut self, call: &ToolCallId, delta: Option<&str>) {
        if let (Some(arguments), Some(delta)) = (self.arguments.get_mut(call), delta) {
            arguments.push(delta);
        } else if let Some((_, known)) = self.view.transcript.call_of_history(call) {
            let arguments = self.arguments.entry(call.clone()).or_default();
            arguments.push(&known.function.arguments);
        }
    }

    fn connect(&mut self, connection: ChatConnection) {
        if self.chat.connection != connection {
            self.chat.connection = connection;
            self.is_touched = true;
        }
    }

    /// Marks the text of a message that has grown.
    fn mark_grown(&mut self, at: usize) {
        if let Some(message) = self.view.transcript.messages().get(at)
            && !self.stale.contains_key(message.id())
        {
            self.stale.insert(message.id().clone(), Staleness::Grown);
        }
    }

    /// Marks a message that has changed.
    fn mark(&mut self, message: Option<MessageId>) {
        if let Some(message) = message {
            self.stale.insert(message, Staleness::Changed);
        }
    }

    fn mark_call(&mut self, call: &ToolCallId) {
        self.mark(self.view.transcript.owner(call).cloned());
    }

    /// Notes that a call has moved on.
    fn note_progress_of(&mut self, update: &ToolCallUpdate) {
        if update.status.is_final() {
            self.overlays.remove(&update.tool_call_id);
        } else {
            self.connect(ChatConnection::Idle);
            self.has_answer = true;
        }
    }

    fn interrupt(&mut self, interrupts: &[Interrupt]) {
        self.connect(ChatConnection::Idle);
        let shown = interrupts.iter().take(MAX_INTERRUPTS).cloned();
        self.chat.interrupts = shown.collect();
        self.is_touched = true;
    }

    fn remove_interrupts(&mut self) {
        self.is_touched |= !self.chat.interrupts.is_empty();
        self.chat.interrupts.clear();
    }

    fn note_progress(&mut self, progress: &ToolProgress) {
        let message = progress.message.as_deref();
        let overlay = self.overlays.entry(progress.tool_call_id.clone());
        overlay.or_default().progress = Some(ToolCardProgress {
            fraction: progress.fraction,
            message: message.map(|message| one_line(message, MAX_PROGRESS_CHARS)),
        });
        self.mark_call(&progress.tool_call_id);
    }

    /// Puts a result into the conversation, as the run does: an agent may speak of it later.
    fn take_result(&mut self, update: &ToolCallUpdate) {
        let Some(result) = &update.result else {
            return;
        };
        let index = usize::try_from(update.call.index).unwrap_or(usize::MAX);
        self.view
            .transcript
            .insert_result(Message::Tool(ToolMessage {
                id: MessageId::of_result(&self.run_id, index),
                tool_call_id: update.tool_call_id.clone(),
                content: match result {
                    Ok(output) => output.content.clone(),
                    Err(failure) => failure.message.as_str().into(),
                },
                error: result.as_ref().err().map(|failure| failure.message.clone()),
                ..ToolMessage::default()
            }));
    }
}
