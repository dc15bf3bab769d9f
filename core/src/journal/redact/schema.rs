//! A tool's JSON Schema: what it checks stays, what it says goes.

use super::alias::{Aliases, Kind, hidden};
use super::walk::{self, Area};
use crate::tool::{Tool, ToolRegistry};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The names of the properties of a schema: they are the app's, not the user's, and stay.
pub(super) fn names(schema: &Value, into: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (field, value) in fields {
                if let ("properties" | "$defs" | "definitions", Value::Object(names)) =
                    (field.as_str(), value)
                {
                    into.extend(names.keys().cloned());
                }
                names(value, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        _ => {}
    }
}

/// The schema without its words. It takes the replaced arguments that the original one takes, and no other.
pub(super) fn redact(schema: &Value, aliases: &mut Aliases) -> Value {
    let Value::Object(fields) = schema else {
        return match schema {
            Value::Array(items) => items.iter().map(|item| redact(item, aliases)).collect(),
            other => other.clone(),
        };
    };
    let mut redacted = Map::new();
    let mut patterns = Vec::new();
    for (field, value) in fields {
        let value = match (field.as_str(), value) {
            ("default" | "examples" | "example" | "title" | "$comment", _) => continue,
            ("pattern", Value::String(pattern)) => {
                patterns.push(pattern.clone());
                continue;
            }
            ("enum" | "const", value) => walk::value(value, Area::Own, aliases),
            (
                "type" | "required" | "format" | "$ref" | "$schema" | "$id" | "$anchor" | "$defs"
                | "definitions" | "properties" | "patternProperties" | "dependentRequired"
                | "dependentSchemas",
                value,
            ) if !value.is_object() => value.clone(),
            (
                "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                Value::Object(named),
            ) => {
                let named = named
                    .iter()
                    .map(|(name, schema)| (name.clone(), redact(schema, aliases)));
                Value::Object(named.collect())
            }
            ("dependentRequired", value) => value.clone(),
            (_, Value::String(text)) => hidden(text).into(),
            (_, value) => redact(value, aliases),
        };
        redacted.insert(field.clone(), value);
    }
    // A replaced text no longer fits a pattern: in its place stand the texts that did not fit.
    for pattern in patterns {
        let misfits = misfits(&pattern, aliases);
        if !misfits.is_empty() {
            let rule = json!({"not": {"enum": misfits}});
            match redacted.get_mut("allOf").and_then(Value::as_array_mut) {
                Some(rules) => rules.push(rule),
                None => drop(redacted.insert("allOf".to_owned(), json!([rule]))),
            }
        }
    }
    Value::Object(redacted)
}

fn misfits(pattern: &str, aliases: &Aliases) -> Vec<String> {
    let probe =
        Tool::new("probe", "").parameters(json!({"properties": {"text": {"pattern": pattern}}}));
    let Ok(registry) = ToolRegistry::new().register(probe) else {
        return Vec::new();
    };
    let fails = |text: &str| {
        registry
            .check("probe", &json!({ "text": text }).to_string())
            .is_err()
    };
    let given = aliases.given(Kind::Value);
    let misfits = given.filter(|(text, _)| fails(text));
    misfits.map(|(_, alias)| alias.to_owned()).collect()
}
