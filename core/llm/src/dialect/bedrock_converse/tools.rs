use super::super::ToolChoice;
use super::super::encoding::parameters;
use crate::event::ToolDefinition;
use serde_json::{Value, json};

/// A tool on offer.
pub(super) fn tool(tool: &ToolDefinition) -> Value {
    let mut spec = json!({"name": tool.name});
    if !tool.description.is_empty() {
        spec["description"] = json!(tool.description);
    }
    spec["inputSchema"] = json!({"json": parameters(tool)});
    json!({"toolSpec": spec})
}

/// A tool that is no longer on offer, but is called in the conversation: without it the request is refused.
pub(super) fn former(name: &str) -> Value {
    json!({"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}})
}

/// Returns the field `toolChoice`, if it is needed. There is none for no call at all.
pub(super) fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required => Some(json!({"any": {}})),
        ToolChoice::Named(name) => Some(json!({"tool": {"name": name}})),
    }
}
