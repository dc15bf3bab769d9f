//! JSON Patch (RFC 6902), by the `json-patch` crate, with bounds on the size of a result.

use crate::event::{DEEPEST, is_within, weight};
use json_patch::jsonptr::PointerBuf;
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, PatchOperation, RemoveOperation, ReplaceOperation,
    TestOperation,
};
use serde_json::Value;
use std::slice::from_ref;

/// The maximum [`weight`] that the `copy` operations of one patch may produce. A `copy` of a value into a part of
/// itself doubles it, so a few dozen bytes could fill any memory.
const HEAVIEST: usize = 16 << 20;

/// Returns `value` after the operations of a patch, all of them or none.
///
/// Each operation is applied separately, to a copy. The crate's way to revert a patch panics after a `move` has
/// replaced the root, and a value that is too deep overflows the stack before the patch ends.
pub(super) fn patched(value: &Value, operations: &[Value]) -> Result<Value, String> {
    let mut value = value.clone();
    let mut copied = None;
    for (index, operation) in operations.iter().enumerate() {
        let operation =
            read(operation).ok_or_else(|| format!("operation {index} is no operation"))?;
        if let PatchOperation::Copy(copy) = &operation {
            let heavy = copied.get_or_insert_with(|| weight(&value));
            *heavy += copy.from.resolve(&value).map_or(0, weight);
            if *heavy > HEAVIEST {
                return Err("its copies make the value larger than 16 MiB".to_owned());
            }
        }
        if !stays_within(&value, &operation) {
            return Err(format!("it nests deeper than {DEEPEST} levels"));
        }
        json_patch::patch_unsafe(&mut value, from_ref(&operation)).map_err(|mut error| {
            error.operation = index;
            error.to_string()
        })?;
    }
    Ok(value)
}

/// Returns whether a value nests no deeper than [`DEEPEST`] after the operation, if it did not before.
fn stays_within(value: &Value, operation: &PatchOperation) -> bool {
    let (new, path) = match operation {
        PatchOperation::Add(add) => (Some(&add.value), &add.path),
        PatchOperation::Replace(replace) => (Some(&replace.value), &replace.path),
        PatchOperation::Copy(copy) => (copy.from.resolve(value).ok(), &copy.path),
        PatchOperation::Move(to) if to.path.count() > to.from.count() => {
            (to.from.resolve(value).ok(), &to.path)
        }
        PatchOperation::Move(_) | PatchOperation::Remove(_) | PatchOperation::Test(_) => {
            return true;
        }
    };
    let left = DEEPEST.checked_sub(path.count());
    new.is_none_or(|new| left.is_some_and(|left| is_within(new, left)))
}

/// Reads an operation by hand: the code that serde derives for a tagged type of another crate is several times as
/// large.
fn read(value: &Value) -> Option<PatchOperation> {
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
