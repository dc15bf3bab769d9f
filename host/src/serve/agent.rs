//! The agent of all runs: the server's model and tools.

use super::backend::Backend;
use super::metrics::Metrics;
use crate::logging::traces_content;
use stepwell_core::run::TextOptions;
use stepwell_io::{Agent, RunId};
use stepwell_serve::parts::TurnAgent;

/// The agent that runs all turns.
pub(super) fn agent(backend: &Backend, metrics: &Metrics) -> TurnAgent {
    let metrics = metrics.clone();
    let agent = Agent::builder(backend.endpoint.clone())
        .fallback(backend.fallback.iter().cloned())
        .client(backend.client.clone())
        .observer(move |_: &RunId| metrics.turn())
        .trace_content(traces_content())
        .configure(|config| {
            config.limits = backend.limits;
            backend.compaction.apply(config);
            config.instructions.clone_from(&backend.instructions);
            // Clients show each message by itself.
            config.text = TextOptions::AS_WRITTEN;
        });
    let agent = backend.tools.iter().fold(agent, |agent, server_tool| {
        agent.tool_handler(server_tool.tool.clone(), server_tool.clone())
    });
    TurnAgent::new(agent)
}
