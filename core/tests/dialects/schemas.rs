//! What becomes of tools' schemas, and of the form of the answer: each provider gets one that it takes.

use crate::cases::cases;
use crate::encode::endpoint;
use crate::validate;
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{
    Dialect, Endpoint, GenerationSettings, HopIds, HttpRequest, ModelRequest, ResponseFormat,
    ToolChoice,
};
use stepwell_core::event::{Message, ToolDefinition};

const PROVIDERS: [&str; 8] = [
    "openai",
    "anthropic",
    "gemini",
    "mistral",
    "cohere",
    "groq",
    "ollama",
    "openrouter",
];

fn tool(name: &str, schema: &Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        parameters: Some(schema.clone()),
        ..ToolDefinition::default()
    }
}

fn request(
    endpoint: &Endpoint,
    tools: &[ToolDefinition],
    settings: &GenerationSettings,
) -> HttpRequest {
    let messages = [Message::user("1", "Hi")];
    let request = ModelRequest {
        endpoint,
        ids: &HopIds::default(),
        parent_run_id: None,
        instructions: None,
        messages: &messages.iter().collect::<Vec<_>>(),
        tools,
        state: &Value::Null,
        settings,
        resume: &[],
        compact_above: None,
        now: stepwell_core::Timestamp(0),
    };
    let request = request.to_http();
    if let Err(breaches) = validate::request(endpoint.dialect, &endpoint.provider, &request) {
        let body = String::from_utf8_lossy(&request.body);
        panic!(
            "{} {:?}: {breaches:?}\n{body}",
            endpoint.provider, endpoint.dialect
        );
    }
    request
}

fn body(endpoint: &Endpoint, tools: &[ToolDefinition], settings: &GenerationSettings) -> Value {
    serde_json::from_slice(&request(endpoint, tools, settings).body).expect("JSON")
}

/// The schemas of the tools that are offered.
fn offered(endpoint: &Endpoint, schema: &Value) -> Vec<Value> {
    let body = body(
        endpoint,
        &[tool("f", schema)],
        &GenerationSettings::default(),
    );
    let place = match endpoint.dialect {
        Dialect::Anthropic => "/input_schema",
        Dialect::OpenAiResponses | Dialect::GeminiInteractions => "/parameters",
        Dialect::Gemini => "/functionDeclarations/0/parametersJsonSchema",
        _ => "/function/parameters",
    };
    let tools = body["tools"].as_array().into_iter().flatten();
    tools
        .filter_map(|tool| tool.pointer(place).cloned())
        .collect()
}

fn responses() -> Endpoint {
    let openai = stepwell_core::provider::find("openai").expect("known");
    openai
        .endpoint(Some("responses"), "gpt-5", None, Some("k".into()))
        .expect("complete")
}

fn all() -> Vec<Endpoint> {
    let mut all: Vec<_> = PROVIDERS.iter().map(|name| endpoint(name)).collect();
    all.push(responses());
    all
}

/// What real servers send: the MCP reference servers in TypeScript and in Go, pydantic, and what others were refused for.
fn odd() -> Vec<(&'static str, Value)> {
    vec![
        ("go", json!({"type": "object"})),
        ("empty", json!({})),
        ("everything", json!(true)),
        (
            "bare array",
            json!({"type": "object", "properties": {"paths": {"type": "array"}}}),
        ),
        (
            "array among types",
            json!({"type": "object", "properties": {"at": {"type": ["string", "array"]}}}),
        ),
        (
            "anyOf",
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        ),
        (
            "oneOf",
            json!({"oneOf": [{"type": "object", "properties": {"arguments": {"type": "string"}}}]}),
        ),
        ("allOf", json!({"allOf": [{"type": "object"}]})),
        (
            "not",
            json!({"type": "object", "properties": {}, "not": {"required": ["x"]}}),
        ),
        ("enum", json!({"enum": [{"a": 1}]})),
        (
            "array",
            json!({"type": "array", "items": {"type": "string"}}),
        ),
        (
            "nullable",
            json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}}),
        ),
        (
            "odd names",
            json!({"type": "object", "properties": {"user name": {"type": "string"}, "user_name": {}, "$filter": {}, "": {}}, "required": ["user name"]}),
        ),
        (
            "odd names with a condition",
            json!({"type": "object", "properties": {"$top": {"type": "integer"}}, "if": {"required": ["$top"]}, "then": {"maxProperties": 1}}),
        ),
        (
            "zod",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/Args", "definitions": {"Args": {
                "type": "object", "properties": {"range": {"type": "array", "items": [{"type": "number"}, {"type": "number"}], "minItems": 2},
                "next": {"$ref": "#/definitions/Args", "description": "Ignored in draft 7."}}, "additionalProperties": false}}}),
        ),
        (
            "pydantic",
            json!({"type": "object", "properties": {"kind": {"$ref": "#/$defs/Kind", "description": "Of what kind", "default": "a"}},
                "$defs": {"Kind": {"enum": ["a", "b"], "type": "string"}}}),
        ),
        (
            "recursion",
            json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "required": ["tree"],
                "$defs": {"Node": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
                "required": ["name", "children"]}}}),
        ),
        (
            "itself",
            json!({"type": "object", "properties": {"inner": {"$ref": "#"}}}),
        ),
        (
            "wrapped itself",
            json!({"anyOf": [{"type": "object", "properties": {"inner": {"$ref": "#"}}}]}),
        ),
        (
            "booleans",
            json!({"type": "object", "properties": {"any": true, "none": false}}),
        ),
    ]
}

#[test]
fn every_provider_takes_every_odd_schema_that_has_a_meaning() {
    for (name, schema) in odd() {
        for endpoint in all() {
            let offered = offered(&endpoint, &schema);
            assert_eq!(offered.len(), 1, "{name} for {}", endpoint.provider);
        }
    }
}

#[test]
fn what_a_provider_takes_is_sent_as_it_is() {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "array", "items": {"type": "integer"}}},
        "required": ["city"],
        "additionalProperties": false,
    });
    for endpoint in all() {
        let offered = offered(&endpoint, &schema);
        assert_eq!(offered.first(), Some(&schema), "{}", endpoint.provider);
    }
}

#[test]
fn what_is_missing_is_added_with_the_same_meaning() {
    let openai = endpoint("openai");
    for (schema, expected) in [
        (
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
        ),
        (json!({}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": "object", "properties": {"a": {"type": "array"}, "b": true}}),
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {}}}),
        ),
    ] {
        assert_eq!(offered(&openai, &schema), [expected]);
    }
}

#[test]
fn a_root_that_is_no_plain_object_is_wrapped() {
    let schema = json!({"anyOf": [{"type": "object", "properties": {"inner": {"$ref": "#"}}}], "$defs": {"A": {}}});
    for name in ["openai", "anthropic", "gemini"] {
        let expected = json!({
            "type": "object",
            "properties": {"arguments": {"anyOf": [{"type": "object", "properties": {"inner": {"$ref": "#/properties/arguments"}}}]}},
            "required": ["arguments"],
            "additionalProperties": false,
            "$defs": {"A": {}},
        });
        assert_eq!(offered(&endpoint(name), &schema), [expected]);
    }
}

#[test]
fn names_that_anthropic_refuses_are_others_there_alone() {
    let schema = json!({"type": "object", "properties": {"user name": {"type": "string"}, "user_name": {}}, "required": ["user name"]});
    let renamed = json!({"type": "object", "properties": {"user_name_2": {"type": "string"}, "user_name": {}}, "required": ["user_name_2"]});
    assert_eq!(offered(&endpoint("anthropic"), &schema), [renamed]);
    assert_eq!(offered(&endpoint("openai"), &schema), [schema]);
}

#[test]
fn gemini_gets_its_own_words_and_no_recursion_that_is_required() {
    let (_, zod) = odd().swap_remove(14);
    let expected = json!({
        "type": "object",
        "properties": {
            "range": {"type": "array", "minItems": 2, "prefixItems": [{"type": "number"}, {"type": "number"}], "items": {}},
            "next": {"$ref": "#/$defs/Args"},
        },
        "additionalProperties": false,
    });
    let mut offered_zod = offered(&endpoint("gemini"), &zod).remove(0);
    offered_zod
        .as_object_mut()
        .expect("an object")
        .remove("$defs");
    assert_eq!(offered_zod, expected);
    let (_, recursion) = odd().swap_remove(16);
    let offered = offered(&endpoint("gemini"), &recursion).remove(0);
    assert_eq!(
        offered.pointer("/$defs/Node/required"),
        Some(&json!(["name"]))
    );
    assert_eq!(offered["required"], json!(["tree"]));
}

#[test]
fn a_tool_that_cannot_be_said_is_left_out_and_not_chosen() {
    let tools = [
        tool("good", &json!({"type": "object", "properties": {}})),
        tool(
            "bad",
            &json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}),
        ),
        tool("none", &json!(false)),
    ];
    let settings = GenerationSettings {
        tool_choice: ToolChoice::Named("bad".to_owned()),
        ..GenerationSettings::default()
    };
    for endpoint in all() {
        let body = body(&endpoint, &tools, &settings).to_string();
        assert!(body.contains("\"good\""), "{body}");
        assert!(
            !body.contains("\"bad\"") && !body.contains("\"none\""),
            "{body}"
        );
    }
}

fn answer(schema: Value, strict: bool) -> GenerationSettings {
    GenerationSettings {
        response_format: ResponseFormat::Schema {
            name: "form".to_owned(),
            schema,
            strict,
        },
        ..GenerationSettings::default()
    }
}

#[test]
fn a_strict_schema_is_made_one_that_strict_mode_takes() {
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 3, "description": "Short"},
            "note": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "place": {"$ref": "#/$defs/Place", "description": "Where"},
        },
        "required": ["title", "kind", "place"],
        "$defs": {"Place": {"oneOf": [
            {"type": "object", "properties": {"at": {"const": "home"}}, "required": ["at"]},
            {"type": "object", "properties": {"at": {"const": "work"}}, "required": ["at"]},
        ]}},
    });
    let place = |at: &str| json!({"type": "object", "properties": {"at": {"const": at, "type": "string"}}, "required": ["at"], "additionalProperties": false});
    let expected = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Short (minLength: 3)"},
            "note": {"type": ["string", "null"]},
            "kind": {"enum": ["a", "b"], "type": "string"},
            "place": {"description": "Where", "anyOf": [{"$ref": "#/$defs/Place"}]},
        },
        "required": ["title", "note", "kind", "place"],
        "$defs": {"Place": {"anyOf": [place("home"), place("work")]}},
        "additionalProperties": false,
    });
    let sent = body(&endpoint("openai"), &[], &answer(schema.clone(), true));
    let sent = &sent["response_format"]["json_schema"];
    assert_eq!(
        (&sent["strict"], &sent["schema"]),
        (&json!(true), &expected)
    );
    let sent = body(&responses(), &[], &answer(schema, true));
    assert_eq!(sent["text"]["format"]["schema"], expected);
}

#[test]
fn what_strict_mode_cannot_hold_is_asked_for_without_it() {
    let map = json!({"type": "object", "additionalProperties": {"type": "number"}});
    let sent = body(&endpoint("openai"), &[], &answer(map.clone(), true));
    let sent = &sent["response_format"]["json_schema"];
    assert_eq!(sent["strict"], json!(false));
    assert_eq!(
        sent["schema"]["additionalProperties"],
        json!({"type": "number"})
    );
    // Anthropic and those who take no form beside tools are told in words.
    let sent = body(&endpoint("anthropic"), &[], &answer(map.clone(), true));
    assert_eq!(sent.get("output_config"), None);
    assert!(sent["system"].to_string().contains("JSON Schema"), "{sent}");
    let list = json!({"type": "array", "items": {"type": "string"}});
    let sent = body(&endpoint("openai"), &[], &answer(list, true));
    assert_eq!(sent.get("response_format"), None);
    assert!(
        sent["messages"][0].to_string().contains("JSON Schema"),
        "{sent}"
    );
}

#[test]
fn anthropic_and_cohere_get_the_words_that_they_hold_a_model_to() {
    let schema = json!({
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 150}, "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
        "required": ["age"],
    });
    let sent = body(&endpoint("anthropic"), &[], &answer(schema.clone(), true));
    let age = json!({"type": "integer", "description": "minimum: 0; maximum: 150"});
    let held = &sent["output_config"]["format"]["schema"];
    assert_eq!(held["properties"]["age"], age);
    assert_eq!(
        (&held["required"], &held["additionalProperties"]),
        (&json!(["age"]), &json!(false))
    );
    let sent = body(&endpoint("cohere"), &[], &answer(schema, false));
    assert_eq!(
        sent["response_format"]["json_schema"]["properties"]["age"],
        age
    );
}

#[test]
fn who_takes_no_form_beside_tools_is_told_of_it_in_words() {
    let tools = [tool("f", &json!({"type": "object", "properties": {}}))];
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    for (name, model, is_formal) in [
        ("gemini", "gemini-2.5-flash", false),
        ("gemini", "gemini-3-pro", true),
        ("cohere", "command-a", false),
        ("groq", "openai/gpt-oss-120b", false),
        ("ollama", "llama", false),
        ("openai", "gpt-5", true),
        ("anthropic", "claude-opus-4-5", true),
    ] {
        let mut endpoint = endpoint(name);
        endpoint.model = model.to_owned();
        for settings in [
            answer(schema.clone(), true),
            GenerationSettings {
                response_format: ResponseFormat::Json,
                ..GenerationSettings::default()
            },
        ] {
            let sent = body(&endpoint, &tools, &settings).to_string();
            let has_words = sent.contains("nothing else");
            let is_wordy = !is_formal
                || (name == "anthropic" && settings.response_format == ResponseFormat::Json);
            assert_eq!(has_words, is_wordy, "{name} {model}: {sent}");
        }
    }
}

#[test]
fn a_tool_is_strict_where_strict_mode_has_its_meaning() {
    let strict = |schema: Value| {
        let mut tool = tool("f", &schema);
        tool.metadata = serde_json::from_value(json!({"strict": true})).expect("metadata");
        let body = body(&responses(), &[tool], &GenerationSettings::default());
        (
            body["tools"][0]["strict"].clone(),
            body["tools"][0]["parameters"].clone(),
        )
    };
    let whole =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let mut closed = whole.clone();
    closed["additionalProperties"] = json!(false);
    assert_eq!(strict(whole), (json!(true), closed));
    let optional = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert_eq!(strict(optional.clone()), (json!(false), optional));
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "user name", "$filter", "user_name", ""])
        .prop_map(str::to_owned)
}

/// A schema of any words, in any places.
pub(crate) fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::Bool),
        prop::sample::select(vec![
            "string", "integer", "object", "array", "null", "boolean", "number"
        ])
        .prop_map(|kind| json!({"type": kind})),
        Just(json!({"type": ["string", "null"]})),
        Just(json!({"enum": ["x", 1, null]})),
        Just(json!({"const": "x"})),
        Just(json!({"$ref": "#/$defs/D", "description": "d"})),
        Just(json!({"type": "string", "minLength": 2, "format": "uri"})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let named = prop::collection::vec((name(), inner.clone()), 0..4);
        let list = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            4 => (named, prop::collection::vec(name(), 0..3), prop::option::of(inner.clone())).prop_map(|(named, required, rest)| {
                let mut required = required;
                required.sort();
                required.dedup();
                let mut schema = json!({"type": "object", "properties": named.into_iter().collect::<serde_json::Map<_, _>>(), "required": required});
                if let Some(rest) = rest {
                    schema["additionalProperties"] = rest;
                }
                schema
            }),
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => list.clone().prop_map(|items| json!({"type": "array", "prefixItems": items})),
            2 => (prop::sample::select(vec!["anyOf", "oneOf", "allOf"]), list).prop_map(|(word, list)| json!({word: list})),
            1 => inner.clone().prop_map(|not| json!({"not": not})),
            1 => (inner.clone(), inner).prop_map(|(condition, then)| json!({"type": "object", "if": condition, "then": then})),
        ]
    })
    .prop_map(|schema| match schema {
        Value::Object(mut root) => {
            root.insert("$defs".to_owned(), json!({"D": {"type": "object", "properties": {"d": {"$ref": "#/$defs/D"}}, "required": ["d"]}}));
            root.into()
        }
        other => other,
    })
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn any_schema_is_one_that_the_provider_takes_or_left_out(schema in any_schema(), strict in any::<bool>()) {
        for endpoint in all() {
            // The validator is asked in each.
            let _ = request(&endpoint, &[tool("f", &schema)], &GenerationSettings::default());
            let _ = request(&endpoint, &[], &answer(schema.clone(), strict));
            let _ = request(&endpoint, &[tool("f", &schema)], &answer(schema.clone(), strict));
        }
    }
}
