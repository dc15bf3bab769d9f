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
        let mut input_schema = parameters(tool);
        if input_schema.get("type").is_none()
            && let Value::Object(schema) = input_schema.to_mut()
        {
            schema.insert("type".to_owned(), "object".into());
        }
        Self {
            name: &tool.name,
            description: &tool.description,
            input_schema,
            cache_control: None,
        }
    }

    /// A tool that is no longer on offer, but that the conversation has calls of.
    pub(super) fn former(name: &'a str) -> Self {
        Self {
            name,
            description: "",
            input_schema: Cow::Owned(json!({"type": "object"})),
            cache_control: None,
        }
    }
}

/// The field `tool_choice`, where there is something to say.
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

/// The field `format` of `output_config`.
///
/// Source: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>.
pub(super) fn format(format: &ResponseFormat) -> Option<Value> {
    let ResponseFormat::Schema { schema, .. } = format else {
        return None;
    };
    let mut schema = schema.clone();
    close_objects(&mut schema);
    Some(json!({"type": "json_schema", "schema": schema}))
}

/// The service takes only schemas whose objects say that they have no further members.
fn close_objects(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "object")
                && !members.contains_key("additionalProperties")
            {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            members.values_mut().for_each(close_objects);
        }
        Value::Array(items) => items.iter_mut().for_each(close_objects),
        _ => {}
    }
}
