//! The client's tools, as the front ends of the AI SDK send them.

use crate::request::refused::{Refused, RefusedReason};
use serde::Deserialize;
use serde_json::Value;
use stepwell_core::event::ToolDefinition;

/// A tool: AG-UI calls its schema `parameters`, and the AI SDK `inputSchema`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChatTool {
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Value>,
    input_schema: Option<Value>,
}

/// Reads a list of tools, or a map of them by their names.
pub(crate) fn read(tools: Value) -> Result<Vec<ToolDefinition>, Refused> {
    match tools {
        Value::Array(tools) => {
            let tools = tools.into_iter().enumerate();
            tools
                .map(|(index, tool)| definition(tool, None, &index.to_string()))
                .collect()
        }
        Value::Object(tools) => {
            let tools = tools.into_iter();
            tools
                .map(|(name, tool)| definition(tool, Some(name.clone()), &name))
                .collect()
        }
        Value::Null => Ok(Vec::new()),
        _ => Err(invalid("/tools is neither a list nor a map of tools")),
    }
}

fn definition(tool: Value, name: Option<String>, place: &str) -> Result<ToolDefinition, Refused> {
    let place = place.replace('~', "~0").replace('/', "~1");
    let tool: ChatTool = serde_json::from_value(tool)
        .map_err(|error| invalid(format!("/tools/{place} is no tool: {error}")))?;
    let name = name.or(tool.name);
    let name = name.ok_or_else(|| invalid(format!("/tools/{place} has no `name`")))?;
    Ok(ToolDefinition {
        name,
        description: tool.description.unwrap_or_default(),
        parameters: tool.parameters.or(tool.input_schema),
        ..ToolDefinition::default()
    })
}

fn invalid(message: impl Into<String>) -> Refused {
    Refused::new(RefusedReason::InvalidInput, message)
}
