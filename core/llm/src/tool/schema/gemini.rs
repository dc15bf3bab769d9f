//! The subset of JSON Schema that Gemini supports.
//!
//! Source: <https://ai.google.dev/api/generate-content#FIELDS.response_json_schema>.

use super::recursion::recursive;
use super::words::{pointer, refs, subschemas};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Translates a schema to Gemini's subset, with the same meaning.
pub(super) fn translate(schema: &mut Value) {
    if let Value::Object(root) = schema {
        root.shift_remove("$schema");
        if !root.contains_key("$defs")
            && let Some(definitions) = root.shift_remove("definitions")
        {
            root.insert("$defs".to_owned(), definitions);
            refs(schema, &mut |target| {
                if let Some(name) = target.strip_prefix("#/definitions/") {
                    *target = format!("#/$defs/{name}");
                }
            });
        }
    }
    gemini_words(schema);
}

fn gemini_words(schema: &mut Value) {
    let Value::Object(words) = schema else {
        return;
    };
    if let Some(value @ (Value::String(_) | Value::Number(_))) = words.get("const")
        && !words.contains_key("enum")
    {
        let value = value.clone();
        words.shift_remove("const");
        words.insert("enum".to_owned(), json!([value]));
    }
    if words.contains_key("$ref") && !words.keys().all(|word| word.starts_with('$')) {
        let target = words.shift_remove("$ref").unwrap_or_default();
        let union = if words.contains_key("anyOf") {
            "allOf"
        } else {
            "anyOf"
        };
        let mut all = vec![json!({"$ref": target})];
        if let Some(Value::Array(more)) = words.get_mut(union) {
            all.append(more);
        }
        words.insert(union.to_owned(), all.into());
    }
    subschemas(words, &mut |_, schema| gemini_words(schema));
}

/// Makes required recursion optional and returns the names of the changed properties: Gemini unrolls recursion only to
/// a limited depth, and refuses it if it is required.
pub(super) fn end_recursion(schema: &mut Value) -> Option<String> {
    let recursive = recursive(schema);
    let mut names = BTreeSet::new();
    for target in &recursive {
        if let Some(part) = schema.pointer_mut(target) {
            let mut refers = |schema: &mut Value| {
                let mut refers = false;
                refs(schema, &mut |target| {
                    refers |= pointer(target).is_some_and(|target| recursive.contains(&target));
                });
                refers
            };
            relax(part, &mut refers, &mut names);
        }
    }
    if names.is_empty() {
        return None;
    }
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    Some(format!(
        "that {} is required, since it is recursive",
        names.join(", ")
    ))
}

fn relax(
    schema: &mut Value,
    refers: &mut dyn FnMut(&mut Value) -> bool,
    names: &mut BTreeSet<String>,
) {
    let Value::Object(words) = schema else {
        return;
    };
    if let Some(Value::Object(properties)) = words.get_mut("properties") {
        let of = |(name, schema): (&String, &mut Value)| refers(schema).then(|| name.clone());
        let recursive: BTreeSet<String> = properties.iter_mut().filter_map(of).collect();
        if let Some(Value::Array(required)) = words.get_mut("required") {
            required.retain(|name| {
                let name = name.as_str().unwrap_or_default();
                let is_kept = !recursive.contains(name);
                if !is_kept {
                    names.insert(name.to_owned());
                }
                is_kept
            });
        }
    }
    subschemas(words, &mut |_, schema| relax(schema, refers, names));
}
