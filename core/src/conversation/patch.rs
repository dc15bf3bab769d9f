//! JSON Patch (RFC 6902), by the `json-patch` crate, with a bound on what copying can make.

use crate::event::{DEEPEST, is_within};
use json_patch::{Patch, PatchOperation};
use serde_json::Value;

/// The most that the `copy` operations of one patch may make a value, by [`weight`]. A `copy` of the whole into a part
/// doubles it, so a few dozen bytes could fill any memory.
const HEAVIEST: usize = 16 << 20;

/// `value` after the operations of a patch, all of them or none.
pub(super) fn patched(value: &Value, operations: &[Value]) -> Result<Value, String> {
    let patch: Patch = serde_json::from_value(Value::Array(operations.to_vec()))
        .map_err(|error| error.to_string())?;
    let value = applied(value, patch)?;
    if is_within(&value, DEEPEST) {
        Ok(value)
    } else {
        Err(format!("it nests deeper than {DEEPEST} levels"))
    }
}

fn applied(value: &Value, patch: Patch) -> Result<Value, String> {
    let mut value = value.clone();
    let copies = |operation: &PatchOperation| matches!(operation, PatchOperation::Copy(_));
    if !patch.iter().any(copies) {
        json_patch::patch(&mut value, &patch).map_err(|error| error.to_string())?;
        return Ok(value);
    }
    let mut heavy = weight(&value);
    for operation in patch.0 {
        if let PatchOperation::Copy(copy) = &operation {
            heavy += copy.from.resolve(&value).map_or(0, weight);
            if heavy > HEAVIEST {
                return Err("its copies make the value larger than 16 MiB".to_owned());
            }
        }
        json_patch::patch(&mut value, &[operation]).map_err(|error| error.to_string())?;
    }
    Ok(value)
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
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
