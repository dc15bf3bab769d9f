//! The form of an answer, as the provider takes it.

use super::ResponseFormat;
use super::bedrock_converse::takes_schema;
use super::gemini::is_third_generation;
use crate::provider::{Dialect, Endpoint};
use crate::tool::schema::{Grammar, Rules, Spelling, fit, hold};
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks that a request may have a form of the answer, and with `has_tools` also tools.
///
/// # Errors
/// The reason why it may not.
pub(super) fn check_takes_format(
    endpoint: &Endpoint,
    format: &ResponseFormat,
    has_tools: bool,
) -> Result<(), String> {
    let provider = &endpoint.provider;
    let has_schema = matches!(format, ResponseFormat::Schema { .. });
    if endpoint.dialect == Dialect::BedrockConverse && has_schema && !takes_schema(&endpoint.model)
    {
        let model = &endpoint.model;
        return Err(format!("`{model}` is not known to take one at {provider}"));
    }
    if has_tools && !takes_format_beside_tools(endpoint) {
        return Err(format!(
            "{provider} takes no form of the answer beside tools"
        ));
    }
    Ok(())
}

/// Returns whether a request may have both tools and a form of the answer.
fn takes_format_beside_tools(endpoint: &Endpoint) -> bool {
    match endpoint.dialect {
        // <https://ai.google.dev/gemini-api/docs/structured-output#structured-outputs-with-tools>
        Dialect::Gemini | Dialect::GeminiInteractions => is_third_generation(&endpoint.model),
        // <https://docs.cohere.com/reference/chat#request.body.response_format>
        Dialect::Cohere => false,
        // Ollama accepts the form, but then never calls a tool: <https://github.com/ollama/ollama/issues/8095>.
        Dialect::Ollama => false,
        _ => !endpoint.quirks.no_format_with_tools,
    }
}

/// Returns the form as the dialect takes it, and a description of what is lost.
///
/// # Errors
/// The reason why the dialect cannot express the form.
pub(super) fn formed(
    dialect: Dialect,
    format: &ResponseFormat,
) -> Result<(ResponseFormat, Option<String>), String> {
    let ResponseFormat::Schema {
        name,
        schema,
        strict,
    } = format
    else {
        return Ok((format.clone(), None));
    };
    let with = |schema, strict| ResponseFormat::Schema {
        name: name.clone(),
        schema,
        strict,
    };
    // Mistral's own SDKs write strict schemas as OpenAI wants them.
    let is_openai = matches!(
        dialect,
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Mistral
    );
    let grammar = match dialect {
        _ if is_openai && *strict => &OPENAI,
        // <https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html> has the same keywords.
        Dialect::Anthropic | Dialect::BedrockConverse => &ANTHROPIC,
        Dialect::Gemini | Dialect::GeminiInteractions => &GEMINI,
        Dialect::Cohere => &COHERE,
        _ if is_openai => return loose(schema).map(|schema| (with(schema, false), None)),
        // Ollama builds a grammar from the keywords it knows, and ignores the others.
        _ if schema.is_object() => return Ok((format.clone(), None)),
        _ => return Err("its schema is no object".to_owned()),
    };
    match hold(schema, grammar) {
        Ok(held) => {
            let lost = (!held.lost.is_empty()).then(|| said(&held.lost));
            Ok((with(held.schema, *strict), lost))
        }
        Err(reason) if is_openai => Ok((
            with(loose(schema)?, false),
            Some(format!("it is not strict, since {reason}")),
        )),
        Err(reason) => Err(reason),
    }
}

/// Returns a schema that the model sees but that is not enforced.
fn loose(schema: &Value) -> Result<Value, String> {
    if let Some(Spelling::Wrapped(_)) = Spelling::of(schema) {
        return Err("its schema is not that of one object".to_owned());
    }
    let fitted = fit(schema, Rules::default()).map_err(|unfit| unfit.to_string())?;
    Ok(fitted.schema)
}

pub(super) fn said(lost: &BTreeSet<String>) -> String {
    lost.iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

const PLAIN_FORMATS: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Source: <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>, keyword by keyword. OpenAI's
/// SDK for Python also closes objects, requires all members and leaves references without other keywords
/// (`openai/lib/_pydantic.py` in 3.57.0); it names no keywords.
pub(super) const OPENAI: Grammar = Grammar {
    words: &[
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "title",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ],
    formats: PLAIN_FORMATS,
    has_nested_values: true,
    most_min_items: u64::MAX,
    is_closed: true,
    requires_all: true,
    is_recursive: true,
    rules: Rules {
        plain_names: false,
        is_gemini: false,
    },
};

/// Source: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>.
/// Anthropic's SDK for Python has the same formats and bound of `minItems` (`anthropic/lib/_parse/_transform.py` in
/// 2.13.0). It moves `default` into the description, although the documentation lists it as supported.
const ANTHROPIC: Grammar = Grammar {
    words: &[
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "title",
        "default",
        "format",
    ],
    formats: &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    has_nested_values: false,
    most_min_items: 1,
    is_closed: true,
    requires_all: false,
    is_recursive: false,
    rules: OPENAI.rules,
};

/// Source: <https://ai.google.dev/api/generate-content#FIELDS.response_json_schema>.
const GEMINI: Grammar = Grammar {
    words: &[
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "anyOf",
        "oneOf",
        "$ref",
        "$anchor",
        "$id",
        "title",
        "format",
        "minimum",
        "maximum",
        "prefixItems",
        "minItems",
        "maxItems",
        "propertyOrdering",
    ],
    formats: &["date-time", "date", "time", "duration"],
    has_nested_values: true,
    most_min_items: u64::MAX,
    is_closed: false,
    requires_all: false,
    is_recursive: true,
    rules: Rules {
        plain_names: false,
        is_gemini: true,
    },
};

/// Source: <https://docs.cohere.com/v2/docs/structured-outputs#unsupported-schema-features>. Cohere's SDK takes any
/// mapping and says nothing of it.
const COHERE: Grammar = Grammar {
    words: &[
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "title",
        "pattern",
        "format",
    ],
    formats: &["date-time", "uuid", "date", "time"],
    has_nested_values: true,
    most_min_items: 0,
    is_closed: false,
    requires_all: false,
    is_recursive: true,
    rules: OPENAI.rules,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::schema::tests::{any_schema, any_value, validator};
    use proptest::prelude::*;
    use serde_json::json;

    /// "Enum (strings, numbers, bools, or nulls only - no complex types)".
    #[test]
    fn anthropic_is_given_no_arrays_and_objects_to_choose_from() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "place": {"type": ["array", "null"], "items": {"type": "integer"}, "enum": [[1, 2], null]},
            "size": {"enum": ["S", 4, null]},
        }});
        let held = hold(&schema, &ANTHROPIC).expect("it can be said");
        let place = &held.schema["properties"]["place"];
        assert_eq!(place.get("enum"), None, "{place}");
        assert_eq!(place["description"], "enum: [[1,2],null]");
        assert_eq!(held.lost, BTreeSet::from(["`enum`".to_owned()]));
        assert_eq!(
            held.schema["properties"]["size"]["enum"],
            json!(["S", 4, null])
        );
    }

    proptest! {
        #[test]
        fn what_fits_the_schema_that_is_held_fits_the_apps(
            schema in any_schema(),
            values in prop::collection::vec(any_value(), 16),
        ) {
            let Some(own) = validator(&schema) else {
                return Ok(());
            };
            for grammar in [&OPENAI, &ANTHROPIC, &GEMINI, &COHERE] {
                let Ok(held) = hold(&schema, grammar) else {
                    continue;
                };
                let again = hold(&held.schema, grammar).expect("it was held before");
                prop_assert_eq!(&again.schema, &held.schema);
                prop_assert!(again.lost.is_empty());
                let Some(theirs) = validator(&held.schema) else {
                    panic!("no schema: {}", held.schema);
                };
                let fit = values.iter().filter(|value| theirs.is_valid(value));
                for value in fit.filter(|_| held.lost.is_empty()) {
                    prop_assert!(own.is_valid(value), "{} in {}", value, held.schema);
                }
            }
        }
    }
}
