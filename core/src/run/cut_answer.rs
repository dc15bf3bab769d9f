//! An answer that the host's death has cut: what was shown of it stays, and it is asked for anew.

use super::block::BlockContent;
use super::core::Core;
use super::edges::on;
use super::effect::EffectId;
use super::opening::Opening;
use super::output::{RunEvent, ToolCallUpdate};
use super::timer::TimerKey;
use super::typed::{Run, next};
use crate::conversation::{Conversation, ToolCallStatus};
use crate::event::{AssistantMessage, Message, MessageContent, Metadata, ToolMessage};
use crate::tool::{ToolFailure, ToolFailureKind};
use crate::{CallKey, Timestamp, ToolCallId};
use serde_json::Value;
use std::borrow::Cow;

/// In the metadata of the messages of an answer that was cut: `true`. Those that ask for no tool are shown, and not sent
/// to the model, which would go on in the middle of a word or refuse them.
pub const CUT: &str = "cut";

const NOT_RUN: &str = "the call was not run: the answer that asked for it broke off";

next! {
    /// What the rest of an answer leads to that a host which died had shown.
    Shown {
        /// The answer is asked for anew.
        Opening,
        /// The conversation does not fit the model's context any more.
        Completed,
    }
}

impl Run<Opening> {
    /// The person was shown these messages by a host that died: those that the run does not know belong to the awaited
    /// answer. See [`Input::Shown`](super::Input::Shown).
    pub fn shown(mut self, messages: Vec<Message>, now: Timestamp) -> Shown {
        self.core.tick(now);
        let messages = messages.into_iter();
        let conversation = &self.core.conversation;
        let new: Vec<_> = messages.filter(|it| is_new(conversation, it)).collect();
        if new.is_empty() || self.core.resumption.is_some() {
            return self.into();
        }
        self.cut(new).opening_or_over()
    }

    /// A stream of another dialect cannot be resumed.
    pub(super) fn without_foreign_stream(self) -> Shown {
        if !self.core.has_foreign_stream() {
            return self.into();
        }
        let mut run = self.cut(Vec::new());
        run.core.follows_cut = true;
        run.opening_or_over()
    }

    fn cut(mut self, messages: Vec<Message>) -> Self {
        let hop = self.core.hop;
        for asked in [
            self.open_effect(),
            EffectId::CreateRun { hop },
            EffectId::Trim { hop },
        ] {
            self.core.withdraw(asked);
        }
        self.core.timers.stop(TimerKey::Silence);
        self.core.cut_answer(messages);
        self.core.begin_hop_after_cut();
        self.goto(on::Continue, Opening::new(0))
    }
}

impl Core {
    /// Whether there is a stream to resume that spoke another dialect.
    pub(super) fn has_foreign_stream(&self) -> bool {
        self.is_of_another_dialect && self.resumption.is_some()
    }

    /// Begins the hop that asks for a cut answer anew. When the run comes back that is done once, however late the host
    /// says what was shown.
    pub(super) fn begin_hop_after_cut(&mut self) {
        self.begin_hop(self.hop + u32::from(!self.follows_cut));
    }

    /// Keeps what is there of the hop's answer, and `shown` beside it, and marks it as cut.
    pub(super) fn cut_answer(&mut self, mut shown: Vec<Message>) {
        shown.iter_mut().for_each(mark_as_cut);
        self.mark_stream_as_cut();
        self.leave_stream();
        for message in shown {
            let asked = asked(&message);
            self.put_shown(message);
            for (index, (call, name)) in (0..).zip(asked) {
                self.put_not_run(index, call, name);
            }
        }
        self.abandon_calls(ToolFailureKind::Cancelled, NOT_RUN);
        self.settle_round();
    }

    /// Marks what the stream has brought.
    fn mark_stream_as_cut(&mut self) {
        let start = self.stream_start();
        let brought = self.conversation.messages().iter().skip(start);
        let ids: Vec<_> = brought.map(|message| message.id().clone()).collect();
        for id in ids {
            if let Some(message) = self.conversation.message_mut(&id) {
                mark_as_cut(message);
            }
        }
    }

    fn put_shown(&mut self, message: Message) {
        self.conversation.put(message.clone());
        let message = Box::new(message);
        let block = BlockContent::Message { message };
        self.recorder.record(self.hop, block);
    }

    /// A result for a call that has none, and that the run knows nothing of.
    fn put_not_run(&mut self, index: u32, call: ToolCallId, name: String) {
        let is_known = self.conversation.call_by_id(&call).is_some();
        if is_known || has_result(&self.conversation, &call) {
            return;
        }
        let failure = ToolFailure::new(ToolFailureKind::Cancelled, NOT_RUN);
        let hop = self.hop;
        self.event(RunEvent::ToolCall(ToolCallUpdate {
            call: CallKey { hop, index },
            tool_call_id: call.clone(),
            name,
            status: ToolCallStatus::Cancelled,
            result: Some(Err(failure)),
        }));
        self.put_shown(not_run(call));
    }
}

/// What a conversation lacks of an answer that its host's death has cut: those messages that the person was `shown` and
/// that it has less of, or nothing, marked as cut, and for each call in them a result, that it was not run. For a turn
/// that cannot go on; one that can is told by [`Input::Shown`](super::Input::Shown).
pub fn cut_messages(conversation: &Conversation, shown: Vec<Message>) -> Vec<Message> {
    let mut cut = Vec::new();
    for mut message in shown {
        if !is_new(conversation, &message) {
            continue;
        }
        mark_as_cut(&mut message);
        let calls = asked(&message).into_iter().map(|(call, _)| call);
        let open = calls.filter(|call| !has_result(conversation, call));
        let results: Vec<_> = open.map(not_run).collect();
        cut.push(message);
        cut.extend(results);
    }
    cut
}

/// Whether the conversation has less of the message, or nothing.
fn is_new(conversation: &Conversation, shown: &Message) -> bool {
    let known = conversation.message(shown.id());
    match (shown, known) {
        // What the person says is never part of an answer.
        (Message::User(_), _) => false,
        (_, None) => true,
        (Message::Assistant(shown), Some(Message::Assistant(known))) => {
            length(shown) > length(known) || shown.tool_calls.len() > known.tool_calls.len()
        }
        (Message::Reasoning(shown), Some(Message::Reasoning(known))) => {
            shown.content.len() > known.content.len()
        }
        _ => false,
    }
}

fn has_result(conversation: &Conversation, call: &ToolCallId) -> bool {
    let mut messages = conversation.messages().iter();
    messages.any(|message| matches!(message, Message::Tool(result) if result.tool_call_id == *call))
}

fn not_run(call: ToolCallId) -> Message {
    Message::Tool(ToolMessage {
        id: format!("{call}-result").into(),
        tool_call_id: call,
        content: MessageContent::Text(NOT_RUN.to_owned()),
        error: Some(NOT_RUN.to_owned()),
        ..ToolMessage::default()
    })
}

fn mark_as_cut(message: &mut Message) {
    if matches!(message, Message::Assistant(_) | Message::Reasoning(_)) {
        let metadata = message.metadata_mut().get_or_insert_default();
        metadata.insert(CUT.to_owned(), Value::Bool(true));
    }
}

/// The messages as the model is sent them.
pub(super) fn without_cut(messages: Cow<'_, [Message]>) -> Cow<'_, [Message]> {
    if messages.iter().any(is_left_out) {
        let kept = messages.iter().filter(|message| !is_left_out(message));
        return Cow::Owned(kept.cloned().collect());
    }
    messages
}

fn is_left_out(message: &Message) -> bool {
    let metadata = match message {
        Message::Assistant(message) if message.tool_calls.is_empty() => &message.metadata,
        Message::Reasoning(message) => &message.metadata,
        _ => return false,
    };
    is_cut(metadata.as_ref())
}

/// Whether a message with this metadata belongs to an answer that was cut.
pub(crate) fn is_cut(metadata: Option<&Metadata>) -> bool {
    let mark = metadata.and_then(|metadata| metadata.get(CUT));
    mark == Some(&Value::Bool(true))
}

fn length(message: &AssistantMessage) -> usize {
    let content = message.content.as_ref().map_or(0, String::len);
    let calls = message.tool_calls.iter();
    content
        + calls
            .map(|call| call.function.arguments.len())
            .sum::<usize>()
}

/// The calls that a message asks for, each with its tool.
fn asked(message: &Message) -> Vec<(ToolCallId, String)> {
    let Message::Assistant(message) = message else {
        return Vec::new();
    };
    let calls = message.tool_calls.iter();
    calls
        .map(|call| (call.id.clone(), call.function.name.clone()))
        .collect()
}
