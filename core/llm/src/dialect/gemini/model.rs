//! The features of a model that a request depends on, by the model's name.

use crate::provider::{Endpoint, ReasoningEffort};
use serde_json::{Map, Value, json};

/// The model's resource name as a path: `models/NAME`, or `tunedModels/NAME`.
pub(super) fn path(model: &str) -> String {
    let (collection, name) = match model.split_once('/') {
        Some((collection @ ("models" | "tunedModels"), name)) => (collection, name),
        _ => ("models", model),
    };
    let mut path = format!("{collection}/");
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// Returns whether the model is of the third generation or a later one: these check signatures, take levels of
/// thinking, and take media in tools' results. A name that follows the newest model (`gemini-flash-latest`) counts.
pub(in super::super) fn is_third_generation(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let Some(version) = name.strip_prefix("gemini-") else {
        return false;
    };
    let digits = version.split(|c: char| !c.is_ascii_digit()).next();
    match digits.and_then(|digits| digits.parse::<u32>().ok()) {
        Some(generation) => generation >= 3,
        None => version.ends_with("-latest"),
    }
}

/// Returns whether an entry of a request's `tools` has a tool that Gemini runs itself.
pub(in super::super) fn is_built_in(tool: &Value) -> bool {
    // The Interactions API names the kind; the older one has a field for each.
    if let Some(kind) = tool.get("type").and_then(Value::as_str) {
        return kind != "function";
    }
    let kinds = tool.as_object().into_iter().flat_map(Map::keys);
    kinds.into_iter().any(|kind| kind != "functionDeclarations")
}

/// Returns whether the endpoint is Vertex AI's, which does not tell of the tools that it runs.
pub(super) fn is_vertex(endpoint: &Endpoint) -> bool {
    endpoint.provider == "vertex" || endpoint.base_url.contains("aiplatform.googleapis.com")
}

/// Returns the amount of thinking. The request asks for the model's thoughts, unless it should have none.
///
/// Source: <https://ai.google.dev/gemini-api/docs/thinking>, "Thinking levels" and "Thinking budgets".
pub(super) fn thinking(model: &str, effort: ReasoningEffort) -> Value {
    let is_pro = model.contains("-pro");
    let mut config = json!({"includeThoughts": effort != ReasoningEffort::Off});
    if is_third_generation(model) {
        config["thinkingLevel"] = thinking_level(model, effort).into();
    } else {
        config["thinkingBudget"] = match effort {
            ReasoningEffort::Off if is_pro => 128,
            ReasoningEffort::Off => 0,
            ReasoningEffort::Low => 1_024,
            ReasoningEffort::Medium => 8_192,
            ReasoningEffort::High => 24_576,
        }
        .into();
    }
    config
}

/// Returns the level of thinking, as models of the third generation take it.
pub(in super::super) fn thinking_level(model: &str, effort: ReasoningEffort) -> &'static str {
    match effort {
        // Pro models cannot do with less.
        ReasoningEffort::Off if model.contains("-pro") => "low",
        ReasoningEffort::Off => "minimal",
        ReasoningEffort::Low => "low",
        // The first of these models knows two levels.
        ReasoningEffort::Medium if model.contains("gemini-3-pro") => "high",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_cannot_leave_its_place_in_the_path() {
        for (model, expected) in [
            ("gemini-2.5-flash", "models/gemini-2.5-flash"),
            ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
            ("tunedModels/mine", "tunedModels/mine"),
            ("a b/c?d#e:f%", "models/a%20b%2Fc%3Fd%23e%3Af%25"),
            ("é", "models/%C3%A9"),
        ] {
            assert_eq!(path(model), expected);
        }
    }

    #[test]
    fn the_name_tells_the_generation() {
        for (model, third) in [
            ("gemini-2.5-pro", false),
            ("gemini-3-pro-preview", true),
            ("models/gemini-3.1-flash", true),
            ("gemini-10", true),
            ("gemini-flash-latest", true),
            ("gemini-flash", false),
            ("gemma-3-27b", false),
        ] {
            assert_eq!(is_third_generation(model), third, "{model}");
        }
    }
}
