//! Whole turns through the driver, over real HTTP, against a provider that streams, cuts, stalls and lies.

mod ag_ui;
mod background;
mod bedrock;
mod cancel;
mod cohere_and_mistral;
mod compaction;
mod context;
mod dialects;
mod failures;
mod fallback;
mod guide;
mod hooks;
mod journal;
mod options;
mod responses;
#[path = "../support/mod.rs"]
mod support;
mod tool_context;
mod tools;
mod typed;
mod typed_run;
mod typed_tools;
mod without_network;

use serde_json::json;
use stepwell_io::tool::Tool;
use support::{agent, messages, start, watch};

fn secret_number() -> Tool {
    Tool::new("get_secret_number", "The secret number of a person.").parameters(json!({
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
    }))
}

async fn lookup(call: stepwell_io::tool::ToolContext) -> Result<String, String> {
    match call.arguments.value["name"].as_str() {
        Some("alice") => Ok("42".to_owned()),
        Some("bob") => Ok("7".to_owned()),
        other => Err(format!("nobody is called {other:?}")),
    }
}
