//! The form of the shapes in the JSON API, which TypeScript and Dart use: names in camel case, and a field that tags
//! the variant.

use crate::model::{Field, Variant};
use heck::{ToKebabCase as _, ToLowerCamelCase as _, ToShoutySnakeCase as _};

/// Returns a field's name, which has the unit of a time. Only what is pending has a deadline, and has the same form as a
/// chat's state, which the core writes.
pub(crate) fn key(field: &Field) -> String {
    let has_unit = field.ty.is_time() && field.name != "deadline";
    let unit = if has_unit { "Ms" } else { "" };
    name(&field.name) + unit
}

/// Converts a name of Rust.
pub(crate) fn name(rust: &str) -> String {
    rust.to_lower_camel_case()
}

/// Returns the field that tags the variants of a shape, unless their fields distinguish them.
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

/// Returns the value of the tag of a variant.
pub(crate) fn word(shape: &str, variant: &Variant) -> String {
    let name = &variant.name;
    match shape {
        "EncryptedValueSubtype" => name.to_kebab_case(),
        "Event" if is_ag_ui(variant) => name.to_shouty_snake_case(),
        _ => name.to_lower_camel_case(),
    }
}

/// Returns whether an event is one of the protocol's. Such an event has the common fields, except for the frequent
/// ones.
pub(crate) fn is_ag_ui(variant: &Variant) -> bool {
    let is_frequent = [
        "TextMessageContent",
        "ToolCallArgs",
        "ReasoningMessageContent",
    ];
    is_frequent.contains(&variant.name.as_str())
        || variant.fields.iter().any(|field| field.name == "common")
}

/// Returns whether the JSON API has the variant. Every call of a broken machine fails, and an unknown event is passed
/// on unchanged.
pub(crate) fn has(shape: &str, variant: &Variant) -> bool {
    match shape {
        "StateKind" => variant.name != "Broken",
        "Event" => variant.name != "Unknown",
        _ => true,
    }
}
