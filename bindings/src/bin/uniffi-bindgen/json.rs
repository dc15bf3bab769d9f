//! How the shapes stand in the JSON API, which TypeScript and Dart use: names in camel case, and which variant it is in
//! a field.

use crate::model::{Field, Variant};
use heck::{ToKebabCase as _, ToLowerCamelCase as _, ToShoutySnakeCase as _};

/// A field's name: with its unit, if it is a time.
pub(crate) fn key(field: &Field) -> String {
    let unit = if field.ty.is_time() { "Ms" } else { "" };
    name(&field.name) + unit
}

/// What Rust calls so.
pub(crate) fn name(rust: &str) -> String {
    rust.to_lower_camel_case()
}

/// The field that says which variant of a shape it is; nothing where the variants are told by their fields.
pub(crate) fn tag(shape: &str) -> Option<&'static str> {
    match shape {
        "ToolChoice" | "ResponseFormat" => None,
        "Outcome" => Some("outcome"),
        "Failure" => Some("failure"),
        "TurnLimit" => Some("kind"),
        "ArgumentsChange" => Some("op"),
        _ => Some("type"),
    }
}

/// What says that it is this variant.
pub(crate) fn word(shape: &str, variant: &Variant) -> String {
    let name = &variant.name;
    match shape {
        "EncryptedValueSubtype" => name.to_kebab_case(),
        "Event" if is_ag_ui(variant) => name.to_shouty_snake_case(),
        _ => name.to_lower_camel_case(),
    }
}

/// Whether an event is one of the protocol's. It may carry what any of them may; the frequent ones are given without.
pub(crate) fn is_ag_ui(variant: &Variant) -> bool {
    let is_frequent = [
        "TextMessageContent",
        "ToolCallArgs",
        "ReasoningMessageContent",
    ];
    is_frequent.contains(&variant.name.as_str())
        || variant.fields.iter().any(|field| field.name == "common")
}

/// Whether the JSON API has the variant. Of a machine that broke every call says so, and an event that is not known comes
/// as it is.
pub(crate) fn has(shape: &str, variant: &Variant) -> bool {
    match shape {
        "StateKind" => variant.name != "Broken",
        "Event" => variant.name != "Unknown",
        _ => true,
    }
}
