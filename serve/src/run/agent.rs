//! The agent of one run: the server's model and tools, the client's conversation, tools and context.

use crate::request::client_tools;
use crate::request::refused::Refused;
use crate::request::trust;
use crate::request::trust::ClientTrust;
use crate::turn::asking::{Asking, approver};
use crate::turn::shared_state::{CHANGE_STATE, SharedState};
use serde_json::Value;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::RunAgentInput;
use stepwell_io::{Agent, AgentBuilder, Conversation, SharedRegistry, ToolContext, ToolRegistry};
use tokio::sync::mpsc;

/// Sets up the agent of a run from what the agents of all runs begin with; `own` are its tools. Calls of the client's
/// tools are left open, and what tools ask the user is put into `asking`. Without a `state` none is shared; `trust` says whether
/// the client may give the model instructions.
pub(crate) fn agent(
    base: AgentBuilder,
    own: &ToolRegistry,
    input: &RunAgentInput,
    state: Option<&SharedState>,
    asking: mpsc::UnboundedSender<Asking>,
    trust: ClientTrust,
) -> Result<Agent, Refused> {
    let mut messages = trust::messages(input, trust);
    let base = base.configure(|config| {
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
            config.instructions = trust::instructions(own, &mut messages, input, state, trust);
        }
    });
    let history = Conversation::new(messages);
    let history = match state {
        Some(state) => history.with_shared_state(state.value()),
        None => history,
    };
    let mut agent = base
        // Whoever has a thread is for the server to say.
        .registry(SharedRegistry::default())
        .thread_id(input.thread_id.clone())
        .history(history)
        .approver(approver(asking));
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
