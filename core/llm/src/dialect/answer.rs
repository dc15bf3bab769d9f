//! The events of one answer: its open items, their ids, and the end of the answer.
//!
//! A decoder passes the content of its frames to [`AnswerWriter`]. All dialects have the same items:
//! - text continues one message until reasoning or a call comes between; then a new message begins;
//! - each stretch of reasoning is a message of its own;
//! - calls belong to the message before them, or to a new one if reasoning has come since.
//!
//! So the conversation has everything in the order of the model's output.

mod call;
mod calls;
mod ending;
mod sealing;

pub(super) use calls::check_calls;
pub(super) use ending::{NO_STOP_REASON, no_answer, no_call};

use super::{HopIds, Sink, made_media};
use crate::MessageId;
use crate::event::{
    Common, ContentPart, Custom, Event, EventRef, Metadata, REPLACED, ReasoningEnd,
    ReasoningMessageEnd, ReasoningMessageStart, ReasoningRole, ReasoningStart, RunStarted,
    TextMessageEnd, TextMessageRole, TextMessageStart, TokenUsage, Violation,
};
use call::Call;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Returns whether a count is zero and need not be stored.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Emits the events of one answer. The writer holds no text, since the events have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct AnswerWriter {
    ids: HopIds,
    phase: Phase,
    open: Open,
    /// The message that receives text and that calls belong to.
    message_id: MessageId,
    messages: usize,
    /// Whether the next text begins a new message.
    parted: bool,
    reasoning_id: MessageId,
    reasonings: usize,
    calls: Vec<Call>,
    /// The number of media in the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    media: usize,
    /// The provider's name of the model.
    pub(super) model: Option<String>,
    /// The provider's id of the answer, for traces only. It is not stored.
    #[serde(skip)]
    pub(super) response_id: Option<String>,
    /// The reason why the model stopped, as the provider states it.
    pub(super) stop_reason: Option<String>,
    /// The token usage.
    pub(super) usage: Option<TokenUsage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    /// Nothing has been emitted.
    Fresh,
    /// The run is active.
    Running,
    /// The run has finished or failed.
    Over,
}

/// The open item, if any. Calls are not included, since they may stay open while there is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Open {
    Nothing,
    Text,
    Reasoning,
}

impl AnswerWriter {
    pub(super) fn new(ids: HopIds) -> Self {
        Self {
            ids,
            phase: Phase::Fresh,
            open: Open::Nothing,
            message_id: MessageId::default(),
            messages: 0,
            parted: true,
            reasoning_id: MessageId::default(),
            reasonings: 0,
            calls: Vec::new(),
            media: 0,
            model: None,
            response_id: None,
            stop_reason: None,
            usage: None,
        }
    }

    /// Returns whether the run has finished or failed, so that nothing further is read.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Returns whether the run is active.
    #[inline]
    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Returns whether the stop reason is known while the run is still active.
    #[inline]
    pub(super) fn has_stopped(&self) -> bool {
        self.is_running() && self.stop_reason.is_some()
    }

    /// Returns whether a stretch of reasoning is open.
    pub(super) fn is_reasoning(&self) -> bool {
        self.open == Open::Reasoning
    }

    /// Starts the run, if it has not started.
    pub(super) fn start(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.phase != Phase::Fresh {
            return Ok(());
        }
        self.phase = Phase::Running;
        whole(
            sink,
            RunStarted {
                thread_id: self.ids.thread_id.clone(),
                run_id: self.ids.run_id.clone(),
                ..RunStarted::default()
            },
        )
    }

    /// Emits a delta of text.
    #[inline]
    pub(super) fn text(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if delta.is_empty() {
            return Ok(());
        }
        if self.open != Open::Text {
            self.begin_text(None, sink)?;
        }
        sink.event(EventRef::TextMessageContent {
            message_id: &self.message_id,
            delta,
        })
    }

    /// Begins a stretch of text, with metadata for its message.
    pub(super) fn begin_text(
        &mut self,
        metadata: Option<Metadata>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        self.start(sink)?;
        self.close(sink)?;
        // A message of this answer that has calls is over.
        self.parted |= !self.calls.is_empty();
        self.begin_message();
        self.open = Open::Text;
        whole(
            sink,
            TextMessageStart {
                message_id: self.message_id.clone(),
                role: Some(TextMessageRole::Assistant),
                common: metadata.map(with_metadata),
                ..TextMessageStart::default()
            },
        )
    }

    fn begin_message(&mut self) {
        if std::mem::take(&mut self.parted) {
            self.message_id = self.ids.message(self.messages);
            self.messages += 1;
        }
    }

    /// Lets the model's next text begin a new message.
    pub(super) fn part(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.close(sink)?;
        self.parted = true;
        Ok(())
    }

    /// Emits a delta of reasoning.
    #[inline]
    pub(super) fn reasoning(&mut self, delta: &str, sink: &mut dyn Sink) -> Result<(), Violation> {
        if delta.is_empty() {
            return Ok(());
        }
        if self.open != Open::Reasoning {
            self.begin_reasoning(None, sink)?;
        }
        sink.event(EventRef::ReasoningMessageContent {
            message_id: &self.reasoning_id,
            delta,
        })
    }

    /// Begins a stretch of reasoning, with metadata for its message.
    pub(super) fn begin_reasoning(
        &mut self,
        metadata: Option<Metadata>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        self.start(sink)?;
        self.close(sink)?;
        self.parted = true;
        self.reasoning_id = self.ids.reasoning(self.reasonings);
        self.reasonings += 1;
        self.open = Open::Reasoning;
        whole(
            sink,
            ReasoningStart {
                message_id: self.reasoning_id.clone(),
                common: None,
            },
        )?;
        whole(
            sink,
            ReasoningMessageStart {
                message_id: self.reasoning_id.clone(),
                role: ReasoningRole::Reasoning,
                common: metadata.map(with_metadata),
            },
        )
    }

    /// Replaces the text of the open message from `from` bytes on, and notifies the app.
    pub(super) fn replace_text(
        &mut self,
        from: usize,
        text: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let value = json!({"messageId": self.message_id, "from": from, "text": text});
        self.custom(REPLACED, value, sink)
    }

    /// Returns whether a message's text is open.
    pub(super) fn is_speaking(&self) -> bool {
        self.open == Open::Text
    }

    /// Emits a `CUSTOM` event with content that only this provider has. It is for the app and not part of the
    /// conversation.
    pub(super) fn custom(
        &mut self,
        name: &str,
        value: Value,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        self.start(sink)?;
        whole(
            sink,
            Custom {
                name: name.to_owned(),
                value,
                common: None,
            },
        )
    }

    /// Emits media that the model made.
    pub(super) fn media(
        &mut self,
        part: &ContentPart,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        self.start(sink)?;
        let id = self.ids.media(self.media);
        self.media += 1;
        made_media::show(id, part, sink)
    }

    /// Adds to the metadata of the current message, and begins one if there is none.
    pub(super) fn annotate_message(
        &mut self,
        metadata: Metadata,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        if self.open != Open::Text {
            self.begin_text(None, sink)?;
        }
        self.open = Open::Nothing;
        whole(
            sink,
            TextMessageEnd {
                message_id: self.message_id.clone(),
                common: Some(with_metadata(metadata)),
            },
        )
    }

    /// Closes the open text or reasoning.
    pub(super) fn close(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Ok(()),
            Open::Text => whole(
                sink,
                TextMessageEnd {
                    message_id: self.message_id.clone(),
                    common: None,
                },
            ),
            Open::Reasoning => {
                let message_id = self.reasoning_id.clone();
                whole(
                    sink,
                    ReasoningMessageEnd {
                        message_id: message_id.clone(),
                        common: None,
                    },
                )?;
                whole(
                    sink,
                    ReasoningEnd {
                        message_id,
                        common: None,
                    },
                )
            }
        }
    }

    /// Records the provider's id of the answer.
    pub(super) fn name(&mut self, id: Option<Cow<'_, str>>) {
        if let (None, Some(id)) = (&self.response_id, id) {
            self.response_id = Some(id.into_owned());
        }
    }
}

fn with_metadata(metadata: Metadata) -> Box<Common> {
    Box::new(Common {
        metadata: Some(metadata),
        ..Common::default()
    })
}

/// Emits an event that is not a delta.
pub(super) fn whole(sink: &mut dyn Sink, event: impl Into<Event>) -> Result<(), Violation> {
    sink.event(EventRef::Whole(&event.into()))
}
