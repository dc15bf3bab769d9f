use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a call: as the model wrote them, and parsed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    /// The model's own text.
    pub raw: String,
    /// The parsed value: always an object or whatever the tool's schema allows.
    pub value: Value,
}

/// Parses a tool call's arguments: the ways of saying "none" (nothing at all, blanks, `null`) are `{}`.
///
/// # Errors
/// The text is not JSON.
pub fn parse_arguments(raw: &str) -> Result<Value, serde_json::Error> {
    let trimmed = raw.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(trimmed)
}

/// Why a call is not run; the text is for the model, which can ask better the next time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Rejection {
    /// No tool has this name.
    #[error("there is no tool named `{name}`; the tools are: {available}")]
    UnknownTool {
        /// The name that was asked for.
        name: String,
        /// The names there are.
        available: String,
    },
    /// The arguments are not JSON.
    #[error("the arguments of `{name}` are not valid JSON: {reason}")]
    NotJson {
        /// The tool.
        name: String,
        /// What the parser found, and where.
        reason: String,
    },
    /// The arguments break the tool's JSON Schema.
    #[error("the arguments of `{name}` do not fit its schema: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// What does not fit, and where.
        reason: String,
    },
}
