//! Tools and calls in the form of Chat Completions, which other formats have adopted.

use crate::event::{ToolCall, ToolDefinition};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A call of the model in the history.
#[derive(Debug, Serialize)]
pub(in super::super) struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> Call<'a> {
    /// Creates a call with these arguments, which are JSON text.
    pub(crate) fn new(call: &'a ToolCall, arguments: Cow<'a, str>) -> Self {
        Self {
            id: &call.id,
            kind: "function",
            function: Function {
                name: &call.function.name,
                arguments,
            },
        }
    }
}

/// A tool on offer.
pub(in super::super) fn function_tool(tool: &ToolDefinition) -> Value {
    let mut function = json!({"name": tool.name});
    if !tool.description.is_empty() {
        function["description"] = json!(tool.description);
    }
    function["parameters"] = super::parameters(tool).into_owned();
    json!({"type": "function", "function": function})
}
