//! Tools.
use serde_json::{Map, Value};

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
