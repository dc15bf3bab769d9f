//! Translation of schemas of earlier drafts to 2020-12.

use super::words::subschemas;
use serde_json::{Map, Value};

/// Makes a schema that names an earlier draft one of 2020-12, of the same meaning: providers read all schemas as that.
/// Most tools of MCP servers in TypeScript name draft 7.
pub(super) fn upgrade(root: &mut Map<String, Value>) {
    let draft = root
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_old = draft.contains("draft-0");
    if is_old || draft.contains("2019-09") {
        root.shift_remove("$schema");
        words(root, is_old);
    }
}

fn words(schema: &mut Map<String, Value>, is_old: bool) {
    // Keywords next to a reference count only since 2019-09.
    if is_old && schema.contains_key("$ref") {
        schema.retain(|word, _| matches!(word.as_str(), "$ref" | "$defs" | "definitions"));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        let rest = schema.shift_remove("additionalItems");
        let first = schema.shift_remove("items").unwrap_or_default();
        schema.insert("prefixItems".to_owned(), first);
        schema.extend(rest.map(|rest| ("items".to_owned(), rest)));
    } else {
        schema.shift_remove("additionalItems");
    }
    if is_old {
        dependencies(schema);
        bound(schema, "minimum", "exclusiveMinimum");
        bound(schema, "maximum", "exclusiveMaximum");
    }
    subschemas(schema, &mut |_, schema| {
        if let Value::Object(schema) = schema {
            words(schema, is_old);
        }
    });
}

fn dependencies(schema: &mut Map<String, Value>) {
    let Some(Value::Object(all)) = schema.shift_remove("dependencies") else {
        return;
    };
    let (names, schemas): (Map<_, _>, Map<_, _>) =
        all.into_iter().partition(|(_, needs)| needs.is_array());
    for (word, needs) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
        if !needs.is_empty() {
            schema.insert(word.to_owned(), needs.into());
        }
    }
}

/// Converts draft 4's exclusive bounds, which are a flag next to the bound.
fn bound(schema: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    if let Some(&Value::Bool(is_exclusive)) = schema.get(exclusive) {
        schema.shift_remove(exclusive);
        if is_exclusive && let Some(value) = schema.shift_remove(bound) {
            schema.insert(exclusive.to_owned(), value);
        }
    }
}
