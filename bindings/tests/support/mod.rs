//! Configurations and definitions.

use serde_json::json;
use stepwell_ffi::{RunConfig, ToolDefinition};

/// Returns a configuration without retries and timeouts.
pub(crate) fn config(base_url: &str) -> RunConfig {
    let config = json!({
        "provider": "openai-compatible",
        "model": "mock",
        "baseUrl": base_url,
        "retry": { "attempts": 1 },
        "timeouts": {
            "silenceMs": null, "toolMs": null, "turnMs": null, "approvalMs": null, "deferredMs": null, "closingMs": null,
        },
    });
    serde_json::from_value(config).expect("a configuration")
}

pub(crate) fn definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: String::new(),
        parameters: None,
        requires_approval: false,
        idempotent: false,
        repeatable: false,
        timeout: None,
    }
}
