//! The registry of tools, and the words that the model gets when it asks badly.

use serde_json::json;
use stepwell_core::tool::{Rejection, Tool, ToolError, ToolOutput, ToolRegistry, parse_arguments};

fn registry() -> ToolRegistry {
    let city = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "days": {"type": "integer", "minimum": 1, "maximum": 7}
        },
        "required": ["city"],
        "additionalProperties": false
    });
    ToolRegistry::new()
        .register(Tool::new("get_weather", "The weather in a city.").parameters(city))
        .and_then(|registry| registry.register(Tool::new("clock", "The time.")))
        .expect("good tools")
}

#[test]
fn registering_gives_a_new_registry_and_leaves_the_old_one_as_it_was() {
    let before = registry();
    let after = before
        .register(Tool::new("another", ""))
        .expect("a good tool");
    assert!(before.get("another").is_none());
    assert!(after.get("another").is_some());
    assert_eq!(before, registry());
    assert_ne!(before, after);
}

#[test]
fn definitions_are_in_the_order_of_registering() {
    let names: Vec<_> = registry()
        .definitions()
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["get_weather", "clock"]);
}

#[test]
fn a_name_can_be_taken_once_and_is_free_again_without_it() {
    let registry = registry();
    let error = registry
        .register(Tool::new("clock", "Another."))
        .expect_err("taken");
    assert_eq!(
        error,
        ToolError::Duplicate {
            name: "clock".into()
        }
    );
    let registry = registry
        .without("clock")
        .register(Tool::new("clock", "Another."))
        .expect("free");
    assert_eq!(
        registry
            .get("clock")
            .map(|tool| tool.definition.description.as_str()),
        Some("Another.")
    );
    assert!(
        registry
            .check("get_weather", r#"{"city":"Bergen"}"#)
            .is_ok(),
        "the others are as they were"
    );
}

#[test]
fn to_take_out_what_is_not_there_changes_nothing() {
    assert_eq!(registry().without("nobody"), registry());
}

#[test]
fn only_names_that_every_provider_takes_are_taken() {
    let long = "x".repeat(65);
    for name in ["", "has space", "dot.ted", "ünïcode", "semi;colon", &long] {
        let error = ToolRegistry::new()
            .register(Tool::new(name, ""))
            .expect_err(name);
        assert_eq!(
            error,
            ToolError::Name {
                name: name.to_owned()
            }
        );
    }
    let longest = "x".repeat(64);
    for name in ["a", "A-b_9", &longest] {
        assert!(
            ToolRegistry::new().register(Tool::new(name, "")).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn parameters_that_are_no_schema_are_refused_with_the_reason() {
    let bad = Tool::new("bad", "").parameters(json!({"type": "obejct"}));
    let error = ToolRegistry::new().register(bad).expect_err("no schema");
    assert!(matches!(&error, ToolError::Schema { name, .. } if name == "bad"));
    assert!(error.to_string().contains("obejct"));
}

#[test]
fn a_schema_elsewhere_is_not_fetched() {
    let remote =
        Tool::new("remote", "").parameters(json!({"$ref": "https://example.invalid/schema.json"}));
    assert!(matches!(
        ToolRegistry::new().register(remote),
        Err(ToolError::Schema { .. })
    ));
}

#[test]
fn a_tool_without_parameters_takes_anything() {
    let mut tool = Tool::new("free", "");
    tool.definition.parameters = None;
    let registry = ToolRegistry::new().register(tool).expect("a good tool");
    assert!(registry.check("free", "[1,2]").is_ok());
}

#[test]
fn an_unknown_tool_is_answered_with_the_names_there_are() {
    let error = registry().check("get_wether", "{}").expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "there is no tool named `get_wether`; the tools are: get_weather, clock"
    );
    let error = ToolRegistry::new().check("x", "{}").expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "there is no tool named `x`; the tools are: (none)"
    );
}

#[test]
fn arguments_that_are_not_json_say_where() {
    let error = registry().check("clock", "{\"a\":").expect_err("cut off");
    assert!(matches!(error, Rejection::NotJson { .. }));
    assert!(error.to_string().contains("line 1 column"));
}

#[test]
fn faults_against_the_schema_are_all_named_and_always_in_the_same_words() {
    let check = || {
        registry()
            .check("get_weather", r#"{"city":"x","days":9,"unit":"C"}"#)
            .expect_err("three faults")
    };
    let words = check().to_string();
    for part in ["/city", "/days", "unit"] {
        assert!(words.contains(part), "{words}");
    }
    for _ in 0..20 {
        assert_eq!(check().to_string(), words);
    }
}

#[test]
fn a_fault_does_not_repeat_a_large_value() {
    let huge = format!(r#"{{"city":"Bergen","days":"{}ä"}}"#, "ä".repeat(100_000));
    let words = registry()
        .check("get_weather", &huge)
        .expect_err("not an integer")
        .to_string();
    assert!(words.len() < 1_000, "{} bytes", words.len());
    assert!(
        words.contains("/days") && words.contains("integer"),
        "{words}"
    );
    let many = format!(
        "{{{}\"city\":\"Bergen\"}}",
        (0..1000)
            .map(|n| format!("\"k{n}\":0,"))
            .collect::<String>()
    );
    let words = registry()
        .check("get_weather", &many)
        .expect_err("unknown fields")
        .to_string();
    assert!(words.len() < 1_000, "{} bytes", words.len());
}

#[test]
fn nothing_in_any_form_is_an_empty_object() {
    for raw in ["", " ", "\n\t", "null", " null "] {
        assert_eq!(
            parse_arguments(raw).expect("nothing is fine"),
            json!({}),
            "{raw:?}"
        );
    }
}

#[test]
fn the_raw_text_is_kept_beside_the_parsed_value() {
    let raw = " {\"city\" : \"Bergen\"} ";
    let (_, arguments) = registry()
        .check("get_weather", raw)
        .map(|(tool, arguments)| (tool.clone(), arguments))
        .expect("good");
    assert_eq!(arguments.raw, raw);
    assert_eq!(arguments.value, json!({"city": "Bergen"}));
}

#[test]
fn what_is_too_deep_is_an_error_and_no_overflow() {
    let deep = "[".repeat(100_000);
    assert!(matches!(
        registry().check("clock", &deep),
        Err(Rejection::NotJson { .. })
    ));
}

#[test]
fn a_json_string_is_given_back_as_its_text() {
    assert_eq!(ToolOutput::from(json!("noon")), ToolOutput::from("noon"));
    assert_eq!(
        ToolOutput::from(json!({"a": [1]})),
        ToolOutput::from(r#"{"a":[1]}"#)
    );
}
