//! What the providers take of JSON Schema.
//!
//! Sources: the words with which OpenAI refuses a schema ("object schema missing properties", "array schema missing
//! items", "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level") and
//! Anthropic does ("`input_schema` does not support oneOf, allOf, or anyOf at the top level", "Property keys should match
//! pattern '^[a-zA-Z0-9_.-]{1,64}$'", of the root's alone); for Gemini
//! <https://ai.google.dev/api/generate-content#FIELDS.response_json_schema>; for strict schemas
//! <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas> and
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>.

use super::at::{At, Breaches};
use serde_json::Value;

/// Checks a tool's schema, or its absence, by the rules of OpenAI and of compatible providers.
pub(super) fn openai(at: &At<'_>, breaches: &mut Breaches) {
    if at.is_absent() {
        return;
    }
    root(at, &["oneOf", "anyOf", "allOf", "enum", "not"], breaches);
    for schema in all(at) {
        let is_array = is_of(&schema, "array");
        let has_items = schema.get("items").value.is_object();
        breaches.unless(!is_array || has_items, &schema, "an array has items");
        refers(at, &schema, breaches);
    }
}

/// A tool's schema as Anthropic takes it.
pub(super) fn anthropic(at: &At<'_>, breaches: &mut Breaches) {
    breaches.unless(
        at.get("type").text() == "object",
        at,
        "is a schema of type object",
    );
    lacks(at, &["oneOf", "anyOf", "allOf"], breaches);
    let names = at.get("properties").value.as_object();
    for name in names.into_iter().flat_map(serde_json::Map::keys) {
        let is_plain = (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        let property = at.get("properties").get(name);
        breaches.unless(is_plain, &property, "matches ^[a-zA-Z0-9_.-]{1,64}$");
    }
    all(at)
        .iter()
        .for_each(|schema| refers(at, schema, breaches));
}

/// A tool's schema, or an answer's, as Gemini takes it.
pub(super) fn gemini(at: &At<'_>, breaches: &mut Breaches) {
    if at.is_absent() {
        return;
    }
    root(at, &["oneOf", "anyOf", "allOf", "not"], breaches);
    for schema in all(at) {
        refers(at, &schema, breaches);
        let words = schema.value.as_object();
        let mut words = words.into_iter().flat_map(serde_json::Map::keys);
        let is_alone = !schema.has("$ref") || words.all(|word| word.starts_with('$'));
        breaches.unless(is_alone, &schema, "a reference stands alone");
        let old = schema.get("$ref").text().starts_with("#/definitions/");
        breaches.unless(!old, &schema, "definitions are in $defs");
    }
}

/// Checks the schema of an answer by OpenAI's rules: strictly if it is marked as strict.
pub(super) fn answer(at: &At<'_>, breaches: &mut Breaches) {
    let schema = at.get("schema");
    breaches.unless(schema.value.is_object(), &schema, "is a schema");
    if at.get("strict").value == &Value::Bool(true) {
        strict(&schema, breaches);
    } else {
        openai(&schema, breaches);
    }
}

/// A schema that OpenAI holds a model to.
pub(super) fn strict(at: &At<'_>, breaches: &mut Breaches) {
    openai(at, breaches);
    for schema in all(at) {
        held(&schema, breaches);
        let names = schema.get("properties").value.as_object();
        for name in names.into_iter().flat_map(serde_json::Map::keys) {
            let required = schema.get("required").items();
            let is_required = required.iter().any(|other| other.text() == name);
            breaches.unless(
                is_required,
                &schema.get("properties").get(name),
                "is required",
            );
        }
        let unknown = [
            "oneOf",
            "allOf",
            "not",
            "if",
            "then",
            "else",
            "default",
            "minLength",
            "maxLength",
            "uniqueItems",
            "contains",
            "prefixItems",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedProperties",
            "unevaluatedItems",
        ];
        lacks(&schema, &unknown, breaches);
        let is_alone = !schema.has("$ref")
            || schema
                .value
                .as_object()
                .is_some_and(|words| words.len() == 1);
        breaches.unless(is_alone, &schema, "a reference stands alone");
    }
}

/// A schema that Anthropic holds a model to.
pub(super) fn anthropic_answer(at: &At<'_>, breaches: &mut Breaches) {
    for schema in all(at) {
        held(&schema, breaches);
        refers(at, &schema, breaches);
        let unknown = [
            "oneOf",
            "not",
            "if",
            "then",
            "else",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "maxItems",
            "uniqueItems",
            "contains",
            "prefixItems",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
        ];
        lacks(&schema, &unknown, breaches);
        let least = schema.get("minItems").value.as_u64();
        breaches.unless(
            least.is_none_or(|least| least < 2),
            &schema,
            "minItems is 0 or 1",
        );
    }
}

/// A schema that Cohere holds a model to.
pub(super) fn cohere_answer(at: &At<'_>, breaches: &mut Breaches) {
    for schema in all(at) {
        let unknown = [
            "oneOf",
            "allOf",
            "not",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "uniqueItems",
        ];
        lacks(&schema, &unknown, breaches);
    }
}

/// Checks that a grammar can be built from the schema: objects with known members, and a type for everything.
fn held(schema: &At<'_>, breaches: &mut Breaches) {
    let is_closed = schema.get("additionalProperties").value == &Value::Bool(false);
    breaches.unless(
        !is_of(schema, "object") || is_closed,
        schema,
        "an object is closed",
    );
    let says = ["type", "anyOf", "allOf", "$ref", "enum", "const"];
    breaches.unless(
        says.iter().any(|word| schema.has(word)),
        schema,
        "has a type",
    );
}

fn lacks(schema: &At<'_>, words: &[&str], breaches: &mut Breaches) {
    for word in words
        .iter()
        .filter(|word| schema.value.get(**word).is_some())
    {
        breaches.add(schema, format!("has no {word}"));
    }
}

fn root(at: &At<'_>, refused: &[&str], breaches: &mut Breaches) {
    breaches.unless(
        at.get("type").text() == "object",
        at,
        "is a schema of type object",
    );
    let properties = at.get("properties");
    breaches.unless(properties.value.is_object(), at, "an object has properties");
    lacks(at, refused, breaches);
}

fn is_of(schema: &At<'_>, kind: &str) -> bool {
    let types = schema.get("type");
    types.text() == kind || types.items().iter().any(|one| one.text() == kind)
}

/// Checks that the schema's references are in the same document.
fn refers(document: &At<'_>, schema: &At<'_>, breaches: &mut Breaches) {
    let target = schema.get("$ref");
    if let Some(place) = target.text().strip_prefix("#/") {
        let is_there = document.value.pointer(&format!("/{place}")).is_some();
        breaches.unless(is_there, &target, "is a place in the schema");
    } else {
        let is_inner = target.is_absent() || target.text().starts_with('#');
        breaches.unless(is_inner, &target, "is a place in the schema");
    }
}

/// Returns a schema with all schemas in it.
fn all<'a>(at: &At<'a>) -> Vec<At<'a>> {
    let mut found = Vec::new();
    let mut next = vec![at.clone()];
    while let Some(schema) = next.pop() {
        let one = [
            "items",
            "additionalProperties",
            "not",
            "if",
            "then",
            "else",
            "contains",
        ];
        next.extend(one.iter().map(|word| schema.get(word)));
        let several = ["anyOf", "oneOf", "allOf", "prefixItems"];
        next.extend(several.iter().flat_map(|word| schema.get(word).items()));
        for word in [
            "properties",
            "$defs",
            "definitions",
            "patternProperties",
            "dependentSchemas",
        ] {
            let named = schema.get(word);
            let names = named.value.as_object();
            next.extend(
                names
                    .into_iter()
                    .flat_map(serde_json::Map::keys)
                    .map(|name| named.get(name)),
            );
        }
        next.retain(|schema| schema.value.is_object());
        found.push(schema);
    }
    found
}
