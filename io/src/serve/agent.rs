//! The agent of one run: the server's model and tools, the client's conversation, tools and context.

use super::asking::{Asking, approver};
use super::client_tools;
use super::refused::Refused;
use super::shared_state::{CHANGE_STATE, SharedState};
use crate::{Agent, AgentBuilder, Conversation, SharedRegistry, ToolContext, ToolRegistry};
use serde_json::{Value, json};
use std::fmt::Write;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::event::{Context, RunAgentInput};
use tokio::sync::mpsc;

/// The longest state that the model is shown with its instructions, in bytes of JSON.
const SHOWN_STATE: usize = 32 << 10;

/// Sets up the agent of a run from what the agents of all runs begin with; `own` are its tools. Calls of the client's
/// tools are left open, and what tools ask the user is put into `asking`. Without a `state` none is shared.
pub(super) fn agent(
    base: AgentBuilder,
    own: &ToolRegistry,
    input: &RunAgentInput,
    state: Option<&SharedState>,
    asking: mpsc::UnboundedSender<Asking>,
) -> Result<Agent, Refused> {
    let messages = input.messages.iter().filter(|message| {
        // They are the client's own, and never to be sent.
        !matches!(message, Message::Activity(_))
    });
    let history = Conversation::new(messages.cloned().collect());
    let history = match state {
        Some(state) => history.with_shared_state(state.value()),
        None => history,
    };
    let mut agent = base
        // Whoever has a thread is for the server to say.
        .registry(SharedRegistry::default())
        .thread_id(input.thread_id.clone())
        .history(history)
        .approver(approver(asking))
        .configure(|config| {
            if config.endpoint.dialect == Dialect::AgUi {
                // It takes what the client says of itself as it is.
                let settings = &mut config.settings;
                settings
                    .context
                    .extend(input.context.iter().flatten().cloned());
                if let Some(Value::Object(props)) = &input.forwarded_props {
                    settings.extra.extend(props.clone());
                }
            } else {
                let own = config.instructions.take();
                config.instructions = instructions(own, input, state);
            }
        });
    if let Some(state) = state {
        let changed = state.clone();
        agent = agent.handler(CHANGE_STATE, move |call: ToolContext| {
            std::future::ready(changed.change(&call))
        });
    }
    let tools = input.tools.as_deref().unwrap_or_default();
    let agent = client_tools::offer(agent, own, tools)?;
    Ok(client_tools::build(agent, tools)?)
}

/// What a model is told before the conversation: the server's instructions, the client's context, and the state.
fn instructions(
    own: Option<String>,
    input: &RunAgentInput,
    state: Option<&SharedState>,
) -> Option<String> {
    let mut text = own.unwrap_or_default();
    let paragraph = |text: &mut String| {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
    };
    let context: &[Context] = input.context.as_deref().unwrap_or_default();
    if !context.is_empty() {
        paragraph(&mut text);
        text.push_str("What the app says of the situation:");
        for entry in context {
            let _ = write!(text, "\n- {}: {}", entry.description, entry.value);
        }
    }
    let state = state.map(SharedState::value);
    let state = state.unwrap_or_else(|| json!({}));
    let has_state = state.as_object().is_none_or(|fields| !fields.is_empty());
    let shown = state.to_string();
    if has_state && shown.len() <= SHOWN_STATE {
        paragraph(&mut text);
        let _ = write!(
            text,
            "The state that is shared with the app, as JSON: {shown}"
        );
    }
    (!text.is_empty()).then_some(text)
}
