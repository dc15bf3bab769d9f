//! What a stream leaves behind: what it cost, and the blocks of what it said.

use super::core::Core;
use super::recorder::BlockContent;
use crate::MessageId;
use crate::event::Message;

impl Core {
    /// A stream is over, however it ended: what it cost is counted, and what it said is recorded.
    pub(super) fn leave_stream(&mut self) {
        // The answers to an agent's questions have arrived: no later request carries them.
        self.resume.clear();
        self.resumption = None;
        self.count_usage();
        self.record_stream();
    }

    fn count_usage(&mut self) {
        for usage in &self.conversation.summary().usage {
            let total = &mut self.usage;
            for (sum, count) in [
                (&mut total.input_tokens, usage.input_tokens),
                (&mut total.output_tokens, usage.output_tokens),
                (&mut total.total_tokens, usage.total_tokens),
                (&mut total.reasoning_tokens, usage.reasoning_tokens),
                (&mut total.cached_input_tokens, usage.cached_input_tokens),
                (
                    &mut total.cache_write_input_tokens,
                    usage.cache_write_input_tokens,
                ),
            ] {
                if let Some(count) = count {
                    *sum = Some(sum.unwrap_or(0).saturating_add(count));
                }
            }
        }
    }

    /// Records what is new of the messages with these ids.
    pub(super) fn record_messages(&mut self, ids: impl IntoIterator<Item = MessageId>) {
        if !self.recorder.is_on() {
            return;
        }
        for id in ids {
            let message = self.conversation.message(&id);
            let (text, is_reasoning) = match message {
                Some(Message::Assistant(message)) => {
                    (message.content.as_deref().unwrap_or_default(), false)
                }
                Some(Message::Reasoning(message)) => (message.content.as_str(), true),
                _ => continue,
            };
            let from = self.recorder.advance(&id, text.len());
            let text = text.get(from..).unwrap_or_default().to_owned();
            if !text.is_empty() {
                let content = if is_reasoning {
                    BlockContent::Reasoning {
                        message_id: id,
                        text,
                    }
                } else {
                    BlockContent::Text {
                        message_id: id,
                        text,
                    }
                };
                self.recorder.record(self.hop, content);
            }
        }
    }

    /// Records what the hop's stream left unrecorded: text that never ended, and the calls.
    fn record_stream(&mut self) {
        if !self.recorder.is_on() {
            return;
        }
        let ids: Vec<_> = self
            .turn_messages()
            .iter()
            .map(|message| message.id().clone())
            .collect();
        self.record_messages(ids);
        for call in self.conversation.calls() {
            let arguments = self
                .conversation
                .tool_call(call)
                .map(|call| call.function.arguments.clone());
            let content = BlockContent::ToolUse {
                call: call.key,
                tool_call_id: call.id.clone(),
                name: call.name.clone(),
                arguments: arguments.unwrap_or_default(),
            };
            self.recorder.record(self.hop, content);
        }
        // What the backend answered itself is recorded here; the rest when it is done.
        for call in self.conversation.calls() {
            if !call.status.is_final() || call.result.is_some() {
                continue;
            }
            let answer = self
                .turn_messages()
                .iter()
                .find_map(|message| match message {
                    Message::Tool(message) if message.tool_call_id == call.id => Some(message),
                    _ => None,
                });
            if let Some(answer) = answer {
                let content = BlockContent::ToolResult {
                    call: call.key,
                    tool_call_id: call.id.clone(),
                    content: answer.content.clone(),
                    is_error: answer.error.is_some(),
                };
                self.recorder.record(self.hop, content);
            }
        }
    }

    /// What the turn has brought so far.
    pub(super) fn turn_messages(&self) -> &[Message] {
        let messages = self.conversation.messages();
        if self.anchor.is_at_start() {
            return messages;
        }
        let before = self.anchor.position(&self.conversation).or_else(|| {
            let is_of_the_person = |message: &Message| matches!(message, Message::User(_));
            Some(messages.iter().rposition(is_of_the_person)? + 1)
        });
        &messages[before.unwrap_or(0)..]
    }
}
