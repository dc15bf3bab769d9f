//! Formats the results of earlier turns for the model.

use crate::event::{Message, MessageContent};
use crate::transcript::Transcript;
use crate::{MessageId, ToolCallId};
use std::collections::BTreeMap;

/// Formats a result for the model.
pub(super) type ResultFormatter = dyn Fn(&FormattedResult<'_>) -> MessageContent + Send + Sync;

/// A stored result that should be formatted differently.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FormattedResult<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The arguments as the model wrote them.
    pub arguments: &'a str,
    /// The result as the model got it.
    pub content: &'a MessageContent,
    /// Whether the result is an error.
    pub is_error: bool,
}

/// Formats every result of a tool.
pub(super) fn format_results(transcript: &mut Transcript, tool: &str, formatter: &ResultFormatter) {
    let mut asked: BTreeMap<&ToolCallId, (&str, &str)> = BTreeMap::new();
    let mut formatted: Vec<(MessageId, MessageContent)> = Vec::new();
    for message in transcript.messages() {
        match message {
            // A provider may use an id again: the last one that asked under it is meant.
            Message::Assistant(message) => asked.extend(message.tool_calls.iter().map(|call| {
                let function = &call.function;
                (&call.id, (&*function.name, &*function.arguments))
            })),
            Message::Tool(result) => {
                if let Some(&(name, arguments)) = asked.get(&result.tool_call_id)
                    && name == tool
                {
                    let content = formatter(&FormattedResult {
                        tool,
                        arguments,
                        content: &result.content,
                        is_error: result.error.is_some(),
                    });
                    formatted.push((result.id.clone(), content));
                }
            }
            _ => {}
        }
    }
    for (id, content) in formatted {
        if let Some(Message::Tool(result)) = transcript.message_mut(&id) {
            result.content = content;
        }
    }
}
