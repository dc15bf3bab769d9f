use super::super::encoding::parameters;
use super::super::{ResponseFormat, ToolChoice};
use super::cache::Mark;
use crate::event::ToolDefinition;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A tool on offer.
#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<Mark>,
}

impl<'a> Tool<'a> {
    pub(super) fn new(tool: &'a ToolDefinition) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            input_schema: parameters(tool),
            cache_control: None,
        }
    }

    /// A tool that is no longer on offer, but is called in the conversation.
    pub(super) fn former(name: &'a str) -> Self {
        Self {
            name,
            description: "",
            input_schema: Cow::Owned(json!({"type": "object"})),
            cache_control: None,
        }
    }
}

/// Returns the field `tool_choice`, if it is needed.
pub(super) fn choice(choice: &ToolChoice, parallel: Option<bool>) -> Option<Value> {
    let mut value = match choice {
        ToolChoice::None => return Some(json!({"type": "none"})),
        ToolChoice::Auto if parallel.is_none() => return None,
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
    };
    if let Some(parallel) = parallel {
        value["disable_parallel_tool_use"] = (!parallel).into();
    }
    Some(value)
}

/// Returns the field `format` of `output_config`.
///
/// Source: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>.
pub(super) fn format(format: &ResponseFormat) -> Option<Value> {
    let ResponseFormat::Schema { schema, .. } = format else {
        return None;
    };
    Some(json!({"type": "json_schema", "schema": schema}))
}
