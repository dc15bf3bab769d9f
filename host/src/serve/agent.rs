//! The agent of one run: the server's model and tools, the client's conversation, tools and context.

use super::Server;
use super::backend::Backend;
use super::client_tools;
use super::engine::{Asking, approver};
use super::refusal::Refusal;
use super::shared_state::{self, CHANGE_STATE, SharedState};
use crate::logging::traces_content;
use crate::metrics::Metrics;
use serde_json::Value;
use std::fmt::Write;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::event::{Context, RunAgentInput};
use stepwell_core::run::TextOptions;
use stepwell_io::{Agent, AgentBuilder, Conversation, RunId, SharedRegistry, ToolContext};
use tokio::sync::mpsc;

/// The longest state that the model is shown with its instructions, in bytes of JSON.
const SHOWN_STATE: usize = 32 << 10;

/// What the agents of all runs begin with.
pub(super) fn base(backend: &Backend, metrics: &Metrics) -> AgentBuilder {
    let metrics = metrics.clone();
    let agent = Agent::builder(backend.endpoint.clone())
        .client(backend.client.clone())
        .observer(move |_: &RunId| metrics.turn())
        .trace_content(traces_content())
        .configure(|config| {
            config.limits = backend.limits;
            // Clients show each message by itself.
            config.text = TextOptions::AS_WRITTEN;
        });
    let agent = backend.tools.iter().fold(agent, |agent, server_tool| {
        agent.tool_handler(server_tool.tool.clone(), server_tool.clone())
    });
    // Each run has a state of its own.
    agent.tool(shared_state::tool(), |_| async {
        Err::<String, _>("there is no state to change")
    })
}

/// Sets up the agent of a run. Calls of the client's tools are left open, and what tools ask the user is put into
/// `asking`.
pub(super) fn agent(
    server: &Server,
    input: &RunAgentInput,
    state: &SharedState,
    asking: mpsc::UnboundedSender<Asking>,
) -> Result<Agent, Refusal> {
    let messages = input.messages.iter().filter(|message| {
        // They are the client's own, and never to be sent.
        !matches!(message, Message::Activity(_))
    });
    let history = Conversation::new(messages.cloned().collect()).with_shared_state(state.value());
    let backend = &server.backend;
    let mut agent = server.base.clone();
    agent = agent
        // Whoever has a thread is for the server to say.
        .registry(SharedRegistry::default())
        .thread_id(input.thread_id.clone())
        .history(history)
        .approver(approver(asking));
    if backend.endpoint.dialect == Dialect::AgUi {
        // It takes what the client says of itself as it is.
        agent = agent.configure(|config| {
            let settings = &mut config.settings;
            settings
                .context
                .extend(input.context.iter().flatten().cloned());
            if let Some(Value::Object(props)) = &input.forwarded_props {
                settings.extra.extend(props.clone());
            }
            config.instructions.clone_from(&backend.instructions);
        });
    } else if let Some(instructions) = instructions(backend, input, state) {
        agent = agent.instructions(instructions);
    }
    let changed = state.clone();
    agent = agent.handler(CHANGE_STATE, move |call: ToolContext| {
        std::future::ready(changed.change(&call))
    });
    let tools = input.tools.as_deref().unwrap_or_default();
    let agent = client_tools::offer(agent, &server.tools, tools)?;
    Ok(client_tools::build(agent, tools)?)
}

/// What a model is told before the conversation: the server's instructions, the client's context, and the state.
fn instructions(backend: &Backend, input: &RunAgentInput, state: &SharedState) -> Option<String> {
    let mut text = backend.instructions.clone().unwrap_or_default();
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
    let state = state.value();
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
