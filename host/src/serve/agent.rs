//! What the agents of all runs begin with: the server's model and tools.

use super::backend::Backend;
use crate::logging::traces_content;
use crate::metrics::Metrics;
use stepwell_core::run::TextOptions;
use stepwell_io::{Agent, AgentBuilder, RunId, WhenBusy};
use stepwell_serve::parts::offered_by;

/// What the agents of all turns begin with that share a state with their client.
pub(super) fn base(backend: &Backend, metrics: &Metrics) -> AgentBuilder {
    offered_by(without_state(backend, metrics))
}

/// What the agents of all turns begin with.
pub(super) fn without_state(backend: &Backend, metrics: &Metrics) -> AgentBuilder {
    let metrics = metrics.clone();
    let agent = Agent::builder(backend.endpoint.clone())
        .client(backend.client.clone())
        .observer(move |_: &RunId| metrics.turn())
        .trace_content(traces_content())
        // A client that sends while its turn is under way has moved on.
        .when_busy(WhenBusy::Cancel)
        .configure(|config| {
            config.limits = backend.limits;
            // Clients show each message by itself.
            config.text = TextOptions::AS_WRITTEN;
        });
    backend.tools.iter().fold(agent, |agent, server_tool| {
        agent.tool_handler(server_tool.tool.clone(), server_tool.clone())
    })
}
