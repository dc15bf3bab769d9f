//! `GET /capabilities`: what the agent can do, as an AG-UI `AgentCapabilities`. The protocol names no address for it.

use super::server::Server;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::provider::{Capabilities, Catalog};
use stepwell_serve::parts::models;
use stepwell_serve::parts::tool;

pub(super) async fn get(State(server): State<Arc<Server>>) -> Json<Value> {
    Json(of(&server))
}

pub(super) fn of(server: &Server) -> Value {
    let backend = &server.backend;
    let mut tools = server.agent.tools().definitions().to_vec();
    tools.push(tool().definition);
    let asks = backend.tools.iter().any(|tool| tool.tool.requires_approval);
    let models = std::iter::once(&backend.endpoint).chain(&backend.offered);
    let models: Vec<_> = models.map(models::name).collect();
    let mut capabilities = json!({
        "identity": {
            "name": "Stepwell",
            "type": "stepwell",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "transport": { "streaming": true, "websocket": false, "httpBinary": true, "resumable": true },
        "tools": {
            "supported": true,
            "items": tools,
            "parallelCalls": true,
            "clientProvided": true,
        },
        "state": { "snapshots": true, "deltas": true, "memory": false, "persistentState": false },
        "execution": {
            "maxIterations": backend.limits.max_tool_rounds,
            "maxExecutionTime": millis(server),
        },
        "humanInTheLoop": {
            "supported": true,
            "approvals": asks,
            "interrupts": true,
            "approveWithEdits": true,
        },
        "custom": {
            "provider": backend.endpoint.provider,
            "model": backend.endpoint.model,
            "models": models,
            "record": server.serving.record.name(),
        },
    });
    if let Some(model) = model(server) {
        capabilities["reasoning"] =
            json!({ "supported": model.reasoning, "streaming": model.reasoning });
        capabilities["multimodal"] = json!({
            "input": { "image": model.images, "audio": model.audio, "pdf": model.documents },
        });
    }
    capabilities
}

fn millis(server: &Server) -> u64 {
    /// The largest integer that every JSON implementation holds exactly.
    const LARGEST: u128 = (1 << 53) - 1;
    let millis = server.serving.limits.run_time.as_millis();
    u64::try_from(millis.min(LARGEST)).unwrap_or(0)
}

/// Returns the capabilities of the provider's API, if they are known.
fn model(server: &Server) -> Option<Capabilities> {
    let endpoint = &server.backend.endpoint;
    let catalog: &Catalog = stepwell_demo::catalog();
    let provider = catalog.find(&endpoint.provider).ok()?;
    let mut apis = provider.apis.iter();
    let api = apis.find(|api| api.dialect == endpoint.dialect)?;
    Some(api.capabilities)
}
