//! What a client may send to the model besides the user's messages. The user controls the browser: a system message,
//! context or state that it posts is no instruction of the app's.

use serde_json::Value;
use std::fmt::Write;
use stepwell_core::event::{Context, Message, RunAgentInput};
use uuid::Uuid;

/// The prefix of the ids of messages with an untrusted client's context and state.
pub(crate) const CONTEXT_ID: &str = "context-";

/// The longest state that the model is shown, in bytes of JSON.
const MAX_SHOWN_STATE_BYTES: usize = 32 << 10;

/// Whether a client may give the model instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientTrust {
    /// The system prompt is the server's alone, which is right for browsers and apps. `system` and `developer` messages of
    /// the client are dropped, with a warning in the log; its context and state reach the model in a user message.
    #[default]
    Untrusted,
    /// The client is a back end of the same app: its `system` and `developer` messages are sent as they are, and its context
    /// and state follow the server's instructions.
    Trusted,
}

/// Returns the client's messages as the model is sent them.
pub(crate) fn messages(input: &RunAgentInput, trust: ClientTrust) -> Vec<Message> {
    let is_instruction =
        |message: &&Message| matches!(message, Message::System(_) | Message::Developer(_));
    // Activities are the client's own, and never sent.
    let sent = |message: &&Message| !matches!(message, Message::Activity(_));
    let messages = input.messages.iter().filter(sent);
    if trust == ClientTrust::Trusted {
        return messages.cloned().collect();
    }
    let dropped = input.messages.iter().filter(is_instruction).count();
    if dropped > 0 {
        let (thread, run) = (&input.thread_id, &input.run_id);
        tracing::warn!(
            target: "stepwell", %thread, %run, dropped,
            "system and developer messages of a client were dropped: let trusted clients alone send them"
        );
    }
    let messages = messages.filter(|message| !is_instruction(message));
    messages.cloned().collect()
}

/// Returns what a trusted client adds to the server's instructions: its context and state. An untrusted client's are
/// added to `messages`, before the user's last message.
pub(crate) fn instructions(
    messages: &mut Vec<Message>,
    input: &RunAgentInput,
    state: Option<&Value>,
    trust: ClientTrust,
) -> Option<String> {
    let situation = situation(input, state)?;
    match trust {
        ClientTrust::Trusted => Some(situation),
        ClientTrust::Untrusted => {
            let id = format!("{CONTEXT_ID}{}", Uuid::new_v4().simple());
            let is_user = |message: &Message| matches!(message, Message::User(_));
            let at = messages.iter().rposition(is_user).unwrap_or(0);
            messages.insert(at, Message::user(id, situation));
            None
        }
    }
}

/// Describes the client's context and the shared state for a model.
fn situation(input: &RunAgentInput, state: Option<&Value>) -> Option<String> {
    let mut text = String::new();
    let context: &[Context] = input.context.as_deref().unwrap_or_default();
    if !context.is_empty() {
        text.push_str("What the app says of the situation:");
        for entry in context {
            let _ = write!(text, "\n- {}: {}", entry.description, entry.value);
        }
    }
    let state = state.filter(|state| has_content(state));
    let shown = state.map(Value::to_string);
    if let Some(shown) = shown.filter(|shown| shown.len() <= MAX_SHOWN_STATE_BYTES) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let _ = write!(
            text,
            "The state that is shared with the app, as JSON: {shown}"
        );
    }
    (!text.is_empty()).then_some(text)
}

fn has_content(state: &Value) -> bool {
    state.as_object().is_none_or(|fields| !fields.is_empty())
}
