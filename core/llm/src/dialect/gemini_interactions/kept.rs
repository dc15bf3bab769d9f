//! A step that Gemini ran itself, put together from its deltas.

use super::super::{AnswerLimit, DecodeError};
use serde::{Deserialize, Serialize};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// The approximate maximum size of such steps in one answer, in bytes.
const LIMIT: usize = 33 * 1024 * 1024;

/// The fields whose deltas are pieces; the others are replaced.
const IN_PIECES: [&str; 2] = ["arguments", "result"];

/// A step so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    step: Map<String, Value>,
    /// The arguments as JSON text in pieces, if they come so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    arguments: String,
}

impl Kept {
    pub(super) fn new(step: Map<String, Value>) -> Self {
        Self {
            step,
            arguments: String::new(),
        }
    }

    /// Adds a delta.
    pub(super) fn add(&mut self, delta: Map<String, Value>) {
        for (name, value) in delta {
            if name == "type" {
                continue;
            }
            match self.step.entry(name) {
                Entry::Occupied(mut field) if IN_PIECES.contains(&field.key().as_str()) => {
                    join(field.get_mut(), value);
                }
                Entry::Occupied(mut field) => drop(field.insert(value)),
                Entry::Vacant(field) => drop(field.insert(value)),
            }
        }
    }

    /// Adds a piece of the arguments as JSON text.
    pub(super) fn add_arguments(&mut self, piece: &str) {
        self.arguments.push_str(piece);
    }

    /// Sets the signature.
    pub(super) fn sign(&mut self, signature: &str) {
        self.step.insert("signature".to_owned(), signature.into());
    }

    /// Returns the complete step.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        if let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(&self.arguments) {
            self.step.insert("arguments".to_owned(), arguments.into());
        }
        self.step
    }
}

/// Returns the id of the call that a step is, or belongs to.
pub(super) fn id(step: &Map<String, Value>) -> Option<&str> {
    step.get("id").or_else(|| step.get("call_id"))?.as_str()
}

/// Checks that an answer may hold this many more bytes of such steps.
pub(super) fn check(held: &mut usize, more: usize) -> Result<(), DecodeError> {
    let all = held.saturating_add(more);
    if all > LIMIT {
        return Err(AnswerLimit::held(LIMIT).into());
    }
    *held = all;
    Ok(())
}

/// Joins a piece to what came before: text and lists are continued, objects field by field.
fn join(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (Value::Array(items), Value::Array(more)) => items.extend(more),
        (Value::Object(fields), Value::Object(more)) => {
            for (name, more) in more {
                match fields.entry(name) {
                    Entry::Occupied(mut field) => join(field.get_mut(), more),
                    Entry::Vacant(field) => drop(field.insert(more)),
                }
            }
        }
        (value, more) => *value = more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).expect("an object")
    }

    #[test]
    fn a_step_is_put_together_from_its_deltas() {
        let start =
            json!({"type": "code_execution_call", "id": "c", "arguments": {"language": "python"}});
        let mut kept = Kept::new(map(start));
        for code in ["print(", "1)"] {
            let delta = json!({"type": "code_execution_call", "arguments": {"code": code}, "signature": code});
            kept.add(map(delta));
        }
        let whole = json!({"type": "code_execution_call", "id": "c", "signature": "1)",
            "arguments": {"language": "python", "code": "print(1)"}});
        assert_eq!(kept.finish(), map(whole));
    }

    #[test]
    fn arguments_that_come_as_text_are_read_once_they_are_whole() {
        let start = json!({"type": "mcp_server_tool_call", "id": "c", "arguments": {}});
        for (pieces, arguments) in [
            (["{\"a\":", "1}"], json!({"a": 1})),
            (["{\"a\":", "1"], json!({})),
        ] {
            let mut kept = Kept::new(map(start.clone()));
            for piece in pieces {
                kept.add_arguments(piece);
            }
            assert_eq!(kept.finish()["arguments"], arguments);
        }
    }

    #[test]
    fn what_is_held_has_a_bound() {
        let mut held = LIMIT - 1;
        assert!(check(&mut held, 1).is_ok());
        assert!(check(&mut held, 1).is_err());
        assert!(check(&mut held, usize::MAX).is_err());
    }
}
