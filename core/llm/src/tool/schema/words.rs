//! The keywords of JSON Schema, by their content.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Calls `each` with every direct subschema of this one, and with its keyword.
pub(super) fn subschemas(schema: &mut Map<String, Value>, each: &mut dyn FnMut(&str, &mut Value)) {
    for (word, value) in schema.iter_mut() {
        match (word.as_str(), value) {
            ("items" | "allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| each(word, schema));
            }
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(schemas),
            ) => schemas.values_mut().for_each(|schema| each(word, schema)),
            (
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contentSchema",
                schema,
            ) => each(word, schema),
            _ => {}
        }
    }
}

/// Calls `each` with every `$ref` in the schema, including its own.
pub(super) fn refs(schema: &mut Value, each: &mut dyn FnMut(&mut String)) {
    let Value::Object(words) = schema else {
        return;
    };
    if let Some(Value::String(target)) = words.get_mut("$ref") {
        each(target);
    }
    subschemas(words, &mut |_, schema| {
        // A schema with an id of its own is a document of its own: its references begin there.
        if schema.get("$id").is_none() {
            refs(schema, each);
        }
    });
}

/// Returns the names of all properties anywhere in the schema.
pub(super) fn property_names(schema: &mut Value, into: &mut BTreeSet<String>) {
    let Value::Object(words) = schema else {
        return;
    };
    if let Some(Value::Object(properties)) = words.get("properties") {
        into.extend(properties.keys().cloned());
    }
    if let Some(Value::Array(names)) = words.get("required") {
        into.extend(
            names
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_owned())),
        );
    }
    subschemas(words, &mut |_, schema| property_names(schema, into));
}

/// Returns whether the schema's `type` is this one, or this one among others.
pub(super) fn has_type(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

/// Returns whether the keyword is an annotation, which checks nothing.
pub(super) fn is_annotation(word: &str) -> bool {
    matches!(
        word,
        "$comment"
            | "$schema"
            | "$id"
            | "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "contentMediaType"
            | "contentEncoding"
            | "contentSchema"
            | "format"
    )
}

/// The schema that a reference within the document names, as a JSON Pointer.
pub(super) fn pointer(target: &str) -> Option<String> {
    let fragment = target.strip_prefix('#')?;
    if !fragment.is_empty() && !fragment.starts_with('/') {
        return None;
    }
    let decoded = percent_encoding::percent_decode_str(fragment)
        .decode_utf8()
        .ok()?;
    Some(decoded.into_owned())
}
