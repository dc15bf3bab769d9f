//! Adaptation of events to the version that a client declared.
//!
//! Source: the schemas of `@ag-ui/core` 0.0.47, 0.0.53 and 0.0.59, which refuse the whole run for one event that they
//! do not know.

use super::enforcement::version_number;
use crate::event::{ContentPart, Event, Message, MessageContent, RunError, RunOutcome, Source};
use std::borrow::Cow;

/// The error message for a cancelled run, for clients that know no such outcome.
const CANCELLED: &str = "the run was stopped before its answer was complete";

/// The code of that error. `@ag-ui/client` itself emits the code when the app aborts a run, and CopilotKit does not show an
/// error of this code to the user.
const CANCELLED_CODE: &str = "abort";

/// The versions of AG-UI that a client may support, as far as events for them differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ClientVersion {
    /// A version before 1.0, which declares nothing.
    #[default]
    Before1_0,
    /// 1.0 or later.
    V1_0,
}

impl ClientVersion {
    /// Returns the version of a client that declared this `protocolVersion`, or none. A version that cannot be parsed
    /// counts as 1.0, since older clients declare none.
    #[must_use]
    pub fn declared(version: Option<&str>) -> Self {
        let is_old = version
            .is_none_or(|version| version_number(version).is_some_and(|(major, _)| major == 0));
        if is_old { Self::Before1_0 } else { Self::V1_0 }
    }

    /// Returns the event in a form that the client supports, or `None` if there is no such form. A client before 1.0
    /// finds the calls that it should run by their missing results. It does not know cancelled runs and would treat one
    /// as a complete answer, so it is sent an error with the code `abort`.
    #[must_use]
    pub fn adapt(self, event: &Event) -> Option<Cow<'_, Event>> {
        match self {
            Self::V1_0 => Some(Cow::Borrowed(event)),
            Self::Before1_0 => before_1_0(event),
        }
    }
}

fn before_1_0(event: &Event) -> Option<Cow<'_, Event>> {
    let adapted: Event = match event {
        Event::SubagentStarted(_) | Event::SubagentFinished(_) | Event::SubagentError(_) => {
            return None;
        }
        // Some versions refuse an empty delta, which says nothing.
        Event::TextMessageContent(content) if content.delta.is_empty() => return None,
        Event::ReasoningMessageContent(content) if content.delta.is_empty() => return None,
        Event::RunStarted(start) if start.input.is_some() => {
            let mut start = start.clone();
            start.input = None;
            start.into()
        }
        Event::RunFinished(finish) if matches!(finish.outcome, Some(RunOutcome::Cancelled)) => {
            RunError {
                message: CANCELLED.to_owned(),
                code: Some(CANCELLED_CODE.to_owned()),
                usage: finish.usage.clone(),
                common: finish.common.clone(),
            }
            .into()
        }
        Event::RunFinished(finish)
            if matches!(finish.outcome, Some(RunOutcome::Success { .. })) =>
        {
            let mut finish = finish.clone();
            finish.outcome = None;
            finish.into()
        }
        Event::ToolCallResult(result) if matches!(result.content, MessageContent::Parts(_)) => {
            let mut result = result.clone();
            result.content = result.content.to_text().into();
            result.into()
        }
        Event::MessagesSnapshot(snapshot) if snapshot.messages.iter().any(has_new_content) => {
            let mut snapshot = snapshot.clone();
            snapshot.messages.iter_mut().for_each(adapt_message);
            snapshot.into()
        }
        _ => return Some(Cow::Borrowed(event)),
    };
    Some(Cow::Owned(adapted))
}

fn has_new_content(message: &Message) -> bool {
    match message {
        Message::Tool(message) => matches!(message.content, MessageContent::Parts(_)),
        Message::User(message) => match &message.content {
            MessageContent::Text(_) => false,
            MessageContent::Parts(parts) => parts.iter().any(is_file),
        },
        _ => false,
    }
}

fn adapt_message(message: &mut Message) {
    match message {
        Message::Tool(message) => message.content = message.content.to_text().into(),
        Message::User(message) => {
            if let MessageContent::Parts(parts) = &mut message.content {
                parts.retain(|part| !is_file(part));
            }
        }
        _ => {}
    }
}

/// Returns whether the part is a handle of a file, which only 1.0 has.
fn is_file(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text(_) => false,
        ContentPart::Image(media)
        | ContentPart::Audio(media)
        | ContentPart::Video(media)
        | ContentPart::Document(media) => matches!(media.source, Source::File { .. }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::{Value, json};

    fn adapted(event: &Value) -> Option<Value> {
        let event = Event::deserialize(event).expect("an event");
        let adapted = ClientVersion::Before1_0.adapt(&event)?;
        Some(serde_json::to_value(&*adapted).expect("JSON"))
    }

    #[test]
    fn who_declares_nothing_is_from_before_1_0() {
        for (declared, version) in [
            (None, ClientVersion::Before1_0),
            (Some("0.0"), ClientVersion::Before1_0),
            (Some("1.0"), ClientVersion::V1_0),
            (Some("1.7"), ClientVersion::V1_0),
            (Some("next"), ClientVersion::V1_0),
        ] {
            assert_eq!(ClientVersion::declared(declared), version, "{declared:?}");
        }
    }

    #[test]
    fn what_old_clients_refuse_is_put_otherwise_or_left_out() {
        let finished = |outcome: Option<Value>| {
            let mut event = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"});
            if let Some(outcome) = outcome {
                event["outcome"] = outcome;
            }
            event
        };
        let interrupt = json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}]});
        for (event, expected) in [
            (
                finished(Some(
                    json!({"type": "success", "pendingToolCallIds": ["c"]}),
                )),
                Some(finished(None)),
            ),
            (
                finished(Some(json!({"type": "cancelled"}))),
                Some(json!({"type": "RUN_ERROR", "code": "abort", "message": CANCELLED})),
            ),
            (
                finished(Some(interrupt.clone())),
                Some(finished(Some(interrupt))),
            ),
            (
                json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}),
                None,
            ),
            (
                json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""}),
                None,
            ),
            (
                json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                Some(
                    json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c",
                    "content": "a\nb"}),
                ),
            ),
            (
                json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                    {"id": "u", "role": "user", "content": [{"type": "text", "text": "see"},
                        {"type": "document", "source": {"type": "file", "value": "f"}}]},
                    {"id": "m", "role": "tool", "toolCallId": "c", "content": [{"type": "text", "text": "a"}]},
                ]}),
                Some(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                    {"id": "u", "role": "user", "content": [{"type": "text", "text": "see"}]},
                    {"id": "m", "role": "tool", "toolCallId": "c", "content": "a"},
                ]})),
            ),
        ] {
            assert_eq!(adapted(&event), expected, "{event}");
        }
    }
}
