use super::field::{EventError, Metadata, malformed, required};
use serde_json::{Map, Value};

/// The maximum nesting of a JSON value from a peer: few parsers go beyond 128, and the value is stored
/// within more JSON.
pub const DEEPEST: usize = 100;

/// Returns whether `value` nests no deeper than `levels`.
pub fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(fields) => {
            levels > 0 && fields.values().all(|field| is_within(field, levels - 1))
        }
        _ => true,
    }
}

/// Takes a JSON Patch (RFC 6902) out of an event's object: the shape of each operation is checked, not whether it
/// applies.
pub(super) fn operations(
    map: &mut Metadata,
    kind: &'static str,
    field: &'static str,
) -> Result<Vec<Value>, EventError> {
    let operations: Vec<Value> = required(map, kind, field)?;
    for (index, operation) in operations.iter().enumerate() {
        check(operation)
            .map_err(|reason| malformed(kind, field, &format!("operation {index}: {reason}")))?;
    }
    Ok(operations)
}

/// Operations are open: members that an operation does not define are kept and mean nothing.
fn check(operation: &Value) -> Result<(), &'static str> {
    let Value::Object(operation) = operation else {
        return Err("not an object");
    };
    match operation.get("op").and_then(Value::as_str) {
        Some("add" | "replace" | "test") => {
            if !operation.contains_key("value") {
                return Err("it has no `value`");
            }
        }
        Some("move" | "copy") => pointer(operation, "from")
            .ok_or("its `from` is not a JSON pointer (RFC 6901): empty, or `/` before each part")?,
        Some("remove") => {}
        _ => return Err("its `op` is none of add, remove, replace, move, copy, test"),
    }
    pointer(operation, "path")
        .ok_or("its `path` is not a JSON pointer (RFC 6901): empty, or `/` before each part")
}

/// Something if the member is a pointer: empty, or `/` before each part, and each `~` followed by 0 or 1.
fn pointer(operation: &Map<String, Value>, member: &str) -> Option<()> {
    let pointer = operation.get(member)?.as_str()?;
    let escaped = pointer
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with(['0', '1']));
    (escaped && (pointer.is_empty() || pointer.starts_with('/'))).then_some(())
}

/// Returns the approximate size of a value in memory, in bytes.
#[must_use]
pub fn weight(value: &Value) -> usize {
    const NODE: usize = 32;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| NODE + name.len() + weight(value))
            .sum(),
    }
}
