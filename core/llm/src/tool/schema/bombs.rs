//! Schemas that cost more than they look, and ordinary ones that look like them.

use super::check::{Check, CheckSteps};
use super::cost::{Cost, MAX_STEPS, cost};
use super::plan::Plan;
use super::tests::{any_schema, any_value};
use super::words::subschemas;
use crate::tool::{OutputType, Tool, ToolError, ToolRegistry};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Definitions that each lead to the next one as `step` says, from a root that leads to the first.
fn chain(links: usize, step: impl Fn(Value) -> Value, last: &Value) -> Value {
    let mut definitions = Map::new();
    for link in 0..links {
        let next = json!({"$ref": format!("#/$defs/d{}", link + 1)});
        definitions.insert(format!("d{link}"), step(next));
    }
    definitions.insert(format!("d{links}"), last.clone());
    json!({"type": "object", "$defs": definitions, "allOf": [{"$ref": "#/$defs/d0"}]})
}

fn refused(schema: &Value) -> (String, String) {
    let tool = Tool::new("t", "d").parameters(schema.clone());
    match ToolRegistry::new().register(tool) {
        Err(ToolError::Costly { path, reason, .. }) => (path, reason),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!(
            "taken: {}",
            schema.to_string().get(..200).unwrap_or_default()
        ),
    }
}

fn nested(depth: usize, inner: Value) -> Value {
    (0..depth).fold(inner, |inner, _| json!({"a": inner}))
}

#[test]
fn refuses_schemas_that_double_for_one_value() {
    let object = json!({"type": "object"});
    let steps: [fn(Value) -> Value; 8] = [
        |next| json!({"allOf": [next, next]}),
        |next| json!({"anyOf": [next, next]}),
        |next| json!({"oneOf": [next, next]}),
        |next| json!({"not": next, "allOf": [next]}),
        |next| json!({"if": next, "then": next}),
        |next| json!({"if": true, "then": next, "else": next}),
        |next| json!({"dependentSchemas": {"a": next, "b": next}}),
        |next| json!({"unevaluatedProperties": false, "allOf": [next]}),
    ];
    for step in steps {
        let schema = chain(25, step, &object);
        let (path, reason) = refused(&schema);
        assert!(path.starts_with("/$defs/d"), "{path}");
        assert!(reason.contains("unfolds to more than"), "{reason}");
        assert!(schema.pointer(&path).is_some(), "{path}");
    }
}

#[test]
fn refuses_doubling_by_any_kind_of_reference() {
    let doubled = |word: &str, name: &dyn Fn(usize) -> Value, to: &dyn Fn(usize) -> String| {
        let mut definitions = Map::new();
        for link in 0..40 {
            let next = json!({word: to(link + 1)});
            let mut schema = json!({"allOf": [next, next]});
            let Value::Object(words) = name(link) else {
                continue;
            };
            schema.as_object_mut().expect("one").extend(words);
            definitions.insert(format!("d{link}"), schema);
        }
        definitions.insert("d40".to_owned(), name(40));
        json!({"$defs": definitions, "$ref": "#/$defs/d0"})
    };
    for schema in [
        doubled(
            "$ref",
            &|link| json!({"$anchor": format!("a{link}")}),
            &|link| format!("#a{link}"),
        ),
        doubled(
            "$dynamicRef",
            &|link| json!({"$dynamicAnchor": format!("a{link}")}),
            &|link| format!("#a{link}"),
        ),
        doubled(
            "$ref",
            &|link| json!({"$id": format!("https://example.com/{link}")}),
            &|link| format!("https://example.com/{link}"),
        ),
    ] {
        refused(&schema);
    }
}

#[test]
fn refuses_unevaluated_keywords_within_each_other() {
    for word in ["unevaluatedProperties", "unevaluatedItems"] {
        let schema = (0..30).fold(json!({}), |inner, _| json!({word: false, "anyOf": [inner]}));
        refused(&schema);
    }
}

#[test]
fn refuses_a_schema_that_leads_back_to_itself_for_the_same_value() {
    let schema = json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/b"}]},
        "b": {"allOf": [{"$ref": "#/$defs/a"}]},
    }});
    let (_, reason) = refused(&schema);
    assert!(reason.contains("leads back to itself"), "{reason}");
}

#[test]
fn refuses_a_long_chain_of_references() {
    let (_, reason) = refused(&chain(15_000 / 4, |next| next, &json!({})));
    assert!(reason.contains("schemas lead to it"), "{reason}");
}

#[test]
fn refuses_patterns_that_are_large_or_many() {
    let large = json!({"properties": {"a": {"pattern": "(\\w{1,100}){1,90}"}}});
    let (path, reason) = refused(&large);
    assert_eq!(path, "/properties/a/pattern");
    assert!(reason.contains("maxLength"), "{reason}");
    let by_name = json!({"patternProperties": {"(\\w{1,100}){1,90}": {}}});
    assert_eq!(refused(&by_name).0, "/patternProperties");

    let pattern = |number: usize| format!("(\\w{{1,100}}){{1,9}}{number}");
    let many: Map<_, _> = (0..200)
        .map(|number| (format!("p{number}"), json!({"pattern": pattern(number)})))
        .collect();
    assert!(refused(&json!({"properties": many})).1.contains("patterns"));

    // In several tools.
    let mut registry = ToolRegistry::new();
    let registered = (0..200).try_for_each(|number| {
        let schema = json!({"properties": {"a": {"pattern": pattern(number)}}});
        registry.add(Tool::new(format!("t{number}"), "d").parameters(schema))
    });
    assert!(matches!(registered, Err(ToolError::Costly { .. })));
    assert!(!registry.is_empty());
}

#[test]
fn refuses_schemas_of_very_many_values() {
    let objects: Vec<_> = (0..20_000).map(|number| json!({"a": number})).collect();
    assert!(refused(&json!({"enum": objects})).1.contains("JSON values"));
    let mut registry = ToolRegistry::new();
    let registered = (0..20).try_for_each(|number| {
        let words: Vec<_> = (0..9_000).map(|word| format!("w{word}")).collect();
        registry.add(Tool::new(format!("t{number}"), "d").parameters(json!({"enum": words})))
    });
    assert!(matches!(registered, Err(ToolError::Costly { .. })));
}

#[test]
fn typed_answers_are_bounded_too() {
    let schema = chain(25, |next| json!({"allOf": [next, next]}), &json!({}));
    let error = OutputType::new("Trip", schema).unwrap_err().to_string();
    assert!(error.contains("/$defs/d"), "{error}");
}

/// Each of these takes 2^100 looks where nothing is remembered: the test would not end.
#[test]
fn values_that_double_a_recursive_schema_come_to_an_end() {
    for union in ["allOf", "anyOf", "oneOf"] {
        let schema = json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", union: [
            {"properties": {"a": {"$ref": "#/$defs/x"}}},
            {"additionalProperties": {"$ref": "#/$defs/x"}},
        ]}}});
        let check = Check::new(&schema).expect("a schema");
        assert!(
            check.check(&nested(100, json!("no object"))).is_err(),
            "{union}"
        );
        if union != "oneOf" {
            assert!(check.check(&nested(100, json!({}))).is_ok(), "{union}");
        }
    }
    // The unevaluated members are determined again each time.
    let schema = json!({"$ref": "#/$defs/x", "$defs": {"x": {"unevaluatedProperties": false, "anyOf": [
        {"properties": {"a": {"$ref": "#/$defs/x"}}},
        {"required": ["b"], "properties": {"a": {"$ref": "#/$defs/x"}}},
    ]}}});
    let check = Check::new(&schema).expect("a schema");
    let fault = check.check(&nested(100, json!({}))).unwrap_err();
    assert!(fault.contains("could not be checked"), "{fault}");
}

#[test]
fn many_checks_of_one_answer_are_bounded_together() {
    let check = Check::new(&json!({"items": {"type": "integer"}})).expect("a schema");
    let numbers: Value = (0..300_000).collect();
    let mut left = CheckSteps::default();
    let checks = (0..20).map(|_| check.check_within(&numbers, &mut left).is_ok());
    let passed = checks.filter(|passed| *passed).count();
    assert!((1..20).contains(&passed), "{passed}");
    assert!(check.check(&json!([1])).is_ok());
}

#[test]
fn costly_values_are_refused_before_they_are_checked() {
    let text = "a".repeat(200_000);
    let large: Value = (0..2_000_000).collect();
    for (schema, value) in [
        (json!({"items": {"type": "integer"}}), &large),
        (json!({"uniqueItems": true}), &large),
        (json!({"contains": {"const": -1}}), &large),
        (json!({"pattern": "^(\\w{1,100}){1,60}!$"}), &json!(text)),
        (json!({"pattern": "(?=.*b)(a+)+\\1"}), &json!(text)),
        (
            json!({"additionalProperties": {"type": "object"}, "patternProperties": (0..200)
                .map(|number| (format!("^(?!x){number}"), json!({}))).collect::<Map<_, _>>()}),
            &(0..2_000)
                .map(|number| (format!("member number {number}"), json!({})))
                .collect::<Map<_, _>>()
                .into(),
        ),
    ] {
        let check = Check::new(&schema).expect("a schema");
        let fault = check.check(value).unwrap_err();
        assert!(fault.contains("could not be checked"), "{schema}: {fault}");
    }
}

#[test]
fn ordinary_schemas_are_taken_as_they_were() {
    let email = "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$";
    let people: Value = (0..500)
        .map(|number| json!({"email": format!("person.{number}@example.com")}))
        .collect();
    let mut operators = vec![
        json!({"type": "object", "properties": {"value": {"type": "number"}},
        "required": ["value"], "additionalProperties": false}),
    ];
    for name in [
        "add", "sub", "mul", "div", "pow", "min", "max", "and", "or", "xor",
    ] {
        operators.push(json!({"type": "object", "properties": {
            "op": {"const": name}, "left": {"$ref": "#/$defs/expression"}, "right": {"$ref": "#/$defs/expression"},
        }, "required": ["op", "left", "right"], "additionalProperties": false}));
    }
    let expression = (0..8).fold(
        json!({"value": 1}),
        |inner, _| json!({"op": "xor", "left": inner, "right": inner}),
    );
    let misfit = (0..8).fold(
        json!({"value": "one"}),
        |inner, _| json!({"op": "xor", "left": inner, "right": inner}),
    );
    let any_json = json!({"$ref": "#/$defs/json", "$defs": {"json": {"anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": "#/$defs/json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
    ]}}});
    // Many that share one: what they unfold to is beyond all bounds, what is applied to one value is not.
    let shared = chain(
        60,
        |next| json!({"type": "object", "properties": {"a": next, "b": next, "c": next}}),
        &json!({"type": "string"}),
    );
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string", "pattern": "^[\\p{L} .'-]{1,4}$|^.{1,200}$"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    }, "required": ["name"]});
    let draft_7 = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "definitions": {"Id": {"type": "string", "pattern": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}$"}},
        "properties": {"id": {"$ref": "#/definitions/Id"}, "when": {"type": "string", "format": "date-time"}},
        "additionalProperties": false});
    for (schema, fitting, misfitting) in [
        (
            json!({"type": "array", "items": {"type": "object", "properties": {"email": {"type": "string", "format": "email", "pattern": email}}}}),
            people,
            json!([{"email": "a..b@example.com"}]),
        ),
        (
            json!({"$ref": "#/$defs/expression", "$defs": {"expression": {"anyOf": operators}}}),
            expression,
            misfit,
        ),
        (any_json, nested(100, json!([1, "a", null])), Value::Null),
        (shared, nested(50, json!({})), nested(61, json!(1))),
        (
            tree,
            json!({"name": "a", "children": [{"name": "b", "children": []}]}),
            json!({"name": "a", "children": [{"children": []}]}),
        ),
        (draft_7, json!({"id": "0123abcd-0123"}), json!({"id": "x"})),
        (
            json!({"type": "object", "properties": {"content": {"type": "string", "pattern": "\\S"}}}),
            json!({"content": format!("{}x", " ".repeat(500_000))}),
            json!({"content": " ".repeat(500_000)}),
        ),
        (
            json!({"type": "object", "required": ["zone"], "properties": {"zone": {"enum": (0..600).map(|zone| format!("Zone/{zone}")).collect::<Vec<_>>()}}}),
            json!({"zone": "Zone/599"}),
            json!({"zone": "Zone/600"}),
        ),
    ] {
        let registry = ToolRegistry::new().register(Tool::new("t", "d").parameters(schema.clone()));
        let check = Check::new(&schema).expect("a schema");
        if let Err(error) = registry {
            panic!("{error}");
        }
        assert_eq!(check.check(&fitting), Ok(()), "{schema}");
        if !misfitting.is_null() {
            let fault = check.check(&misfitting).unwrap_err();
            assert!(!fault.contains("could not be checked"), "{schema}: {fault}");
        }
    }
}

/// Has every schema count the looks at it.
fn counted(schema: &mut Value) {
    if let Value::Object(words) = schema {
        subschemas(words, &mut |_, schema| counted(schema));
        words.insert("x-look".to_owned(), true.into());
    }
}

struct Look(Arc<AtomicU64>);

impl<'i> jsonschema::Keyword<'i> for Look {
    fn validate(&self, instance: &'i Value) -> Result<(), jsonschema::ValidationError<'i>> {
        self.is_valid(instance);
        Ok(())
    }

    fn is_valid(&self, _instance: &'i Value) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}

proptest! {
    #[test]
    fn says_what_the_validator_says_and_counts_no_less(
        schema in any_schema(),
        values in prop::collection::vec(any_value(), 4),
    ) {
        let Ok(own) = jsonschema::options().build(&schema) else {
            return Ok(());
        };
        let check = Check::new(&schema).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        let plan = Plan::new(&schema).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        let looks = Arc::new(AtomicU64::new(0));
        let mut looked_at = schema.clone();
        counted(&mut looked_at);
        let look = Arc::clone(&looks);
        let counting = jsonschema::options()
            .with_keyword("x-look", move |_, _, _| Ok(Box::new(Look(Arc::clone(&look)))))
            .build(&looked_at);
        let counting = counting.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for value in &values {
            prop_assert_eq!(check.check(value).is_ok(), own.is_valid(value), "{} in {}", value, schema);
            let cost = cost(&plan, value, MAX_STEPS);
            let Ok(Cost { most, least }) = cost else {
                return Err(TestCaseError::fail("too costly"));
            };
            prop_assert!(least <= most);
            looks.store(0, Ordering::Relaxed);
            let _ = counting.is_valid(value);
            prop_assert!(looks.load(Ordering::Relaxed) <= most, "{} in {}", value, schema);
            looks.store(0, Ordering::Relaxed);
            counting.iter_errors(value).count();
            // A union that nothing fits is looked through again, for the faults.
            prop_assert!(looks.load(Ordering::Relaxed) <= most * 4, "{} in {}", value, schema);
        }
    }
}
