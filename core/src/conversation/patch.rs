//! JSON Patch (RFC 6902), by the `json-patch` crate, with a bound on what copying can make.

use crate::event::{DEEPEST, is_within};
use json_patch::jsonptr::PointerBuf;
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, Patch, PatchOperation, RemoveOperation,
    ReplaceOperation, TestOperation,
};
use serde_json::Value;

/// The most that the `copy` operations of one patch may make a value, by [`weight`]. A `copy` of the whole into a part
/// doubles it, so a few dozen bytes could fill any memory.
const HEAVIEST: usize = 16 << 20;

/// `value` after the operations of a patch, all of them or none.
pub(super) fn patched(value: &Value, operations: &[Value]) -> Result<Value, String> {
    let patch = operations
        .iter()
        .map(|value| operation(value).ok_or_else(|| format!("{value} is no operation")))
        .collect::<Result<_, _>>()
        .map(Patch)?;
    let value = applied(value, patch)?;
    if is_within(&value, DEEPEST) {
        Ok(value)
    } else {
        Err(format!("it nests deeper than {DEEPEST} levels"))
    }
}

/// By hand: serde's way for a type of another crate that is told apart by a field is several times as large.
fn operation(value: &Value) -> Option<PatchOperation> {
    let pointer = |member: &str| PointerBuf::parse(value.get(member)?.as_str()?).ok();
    let path = pointer("path")?;
    let from = || pointer("from");
    let new = || value.get("value").cloned();
    Some(match value.get("op")?.as_str()? {
        "add" => PatchOperation::Add(AddOperation {
            path,
            value: new()?,
        }),
        "remove" => PatchOperation::Remove(RemoveOperation { path }),
        "replace" => PatchOperation::Replace(ReplaceOperation {
            path,
            value: new()?,
        }),
        "move" => PatchOperation::Move(MoveOperation {
            from: from()?,
            path,
        }),
        "copy" => PatchOperation::Copy(CopyOperation {
            from: from()?,
            path,
        }),
        "test" => PatchOperation::Test(TestOperation {
            path,
            value: new()?,
        }),
        _ => return None,
    })
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

/// About how many bytes a value takes in memory.
pub(crate) fn weight(value: &Value) -> usize {
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
