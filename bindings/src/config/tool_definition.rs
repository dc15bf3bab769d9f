use crate::error::StepwellError;
use crate::json_value::JsonValue;
use crate::time::Duration;
use serde::Deserialize;
use stepwell_core::tool::Tool;

/// A tool as the model sees it, and how it may be run. Its code stays with the app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolDefinition {
    /// The name that the model calls the tool by: 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// What the tool does and when to use it, for the model.
    pub description: String,
    /// The JSON Schema of the arguments, as JSON text; a tool without arguments if absent.
    #[uniffi(default = None)]
    #[serde(default)]
    pub parameters: Option<JsonValue>,
    /// Whether the user must allow each call.
    #[uniffi(default = false)]
    #[serde(default)]
    pub requires_approval: bool,
    /// Whether running the tool twice does no more than running it once. Only such a tool is run again after a crash.
    #[uniffi(default = false)]
    #[serde(default)]
    pub idempotent: bool,
    /// Whether asking again with the same arguments makes sense, as for a tool that checks progress. A model that
    /// repeats the same call of another tool is warned.
    #[uniffi(default = false)]
    #[serde(default)]
    pub repeatable: bool,
    /// The longest that the tool may take; the run's own limit if absent.
    #[uniffi(default = None)]
    #[serde(rename = "timeoutMs")]
    pub timeout: Option<Duration>,
}

impl TryFrom<ToolDefinition> for Tool {
    type Error = StepwellError;

    fn try_from(definition: ToolDefinition) -> Result<Self, StepwellError> {
        let mut tool = Self::new(definition.name, definition.description);
        if let Some(parameters) = definition.parameters {
            let schema = serde_json::from_str(parameters.as_str()).map_err(|error| {
                let reason = format!("the parameters of `{}` are not JSON: {error}", tool.name());
                StepwellError::configuration(&reason, "give their JSON Schema as JSON text")
            })?;
            tool = tool.parameters(schema);
        }
        tool.requires_approval = definition.requires_approval;
        tool.idempotent = definition.idempotent;
        tool.repeatable = definition.repeatable;
        tool.timeout = definition.timeout.map(Into::into);
        Ok(tool)
    }
}
