use super::{Rules, Spelling, fit};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const RULES: [Rules; 3] = [
    Rules {
        plain_names: false,
        is_gemini: false,
    },
    Rules {
        plain_names: true,
        is_gemini: false,
    },
    Rules {
        plain_names: false,
        is_gemini: true,
    },
];

fn name() -> impl Strategy<Value = String> {
    let names = vec!["a", "b", "user name", "$filter", "long/ä~"];
    prop::sample::select(names).prop_map(str::to_owned)
}

fn leaf() -> impl Strategy<Value = Value> {
    let kinds = ["string", "integer", "object", "array", "null", "boolean"];
    prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::Bool),
        prop::sample::select(kinds.to_vec()).prop_map(|kind| json!({"type": kind})),
        Just(json!({"type": ["string", "array"]})),
        Just(json!({"enum": ["x", 1, null, {}]})),
        Just(json!({"const": "x"})),
        Just(json!({"const": 1})),
        Just(json!({"$ref": "#/definitions/D", "minProperties": 1})),
    ]
}

/// A schema of draft 7 or of 2020-12. Recursion goes through a member, so that validators terminate.
pub(crate) fn any_schema() -> impl Strategy<Value = Value> {
    let schema = leaf().prop_recursive(4, 24, 4, |inner| {
        let named = prop::collection::vec((name(), inner.clone()), 0..4);
        let list = prop::collection::vec(inner.clone(), 1..3);
        let object = (named, prop::collection::btree_set(name(), 0..2));
        prop_oneof![
            5 => (object, prop::option::of(inner.clone())).prop_map(|((named, required), rest)| {
                let named: Map<String, Value> = named.into_iter().collect();
                let mut schema = json!({"properties": named, "required": required});
                if let Some(rest) = rest {
                    schema["additionalProperties"] = rest;
                }
                schema
            }),
            2 => list.clone().prop_map(|items| json!({"type": "array", "items": items, "additionalItems": false})),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            2 => (prop::sample::select(vec!["anyOf", "oneOf", "allOf"]), list).prop_map(|(word, list)| json!({word: list})),
            1 => (inner.clone(), inner.clone()).prop_map(|(not, more)| json!({"not": not, "contains": more})),
            1 => inner.prop_map(|then| json!({"if": {"required": ["a"]}, "then": then, "dependencies": {"a": ["b"]}})),
        ]
    });
    let root = (schema, any::<bool>(), any::<bool>());
    root.prop_map(|(schema, is_object, refers)| {
        let Value::Object(mut root) = schema else {
            return schema;
        };
        if is_object {
            root.insert("type".to_owned(), json!("object"));
        }
        let mut document = if refers {
            json!({"$ref": "#/definitions/Root", "definitions": {"Root": root}})
        } else {
            root.into()
        };
        document["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        document["definitions"]["D"] =
            json!({"type": "object", "properties": {"d": {"$ref": "#/definitions/D"}, "r": {"$ref": "#"}}});
        document
    })
}

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!("x")),
        Just(json!(1)),
        Just(json!(true)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let keys = prop_oneof![name(), Just("d".to_owned()), Just("r".to_owned())];
        prop_oneof![
            3 => prop::collection::vec((keys, inner.clone()), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            1 => prop::collection::vec(inner, 0..3).prop_map(Value::Array),
        ]
    })
}

pub(crate) fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::options().build(schema).ok()
}

proptest! {
    #[test]
    fn a_fitted_schema_takes_the_same_arguments(
        schema in any_schema(),
        values in prop::collection::vec(any_value(), 8),
    ) {
        let Some(own) = validator(&schema) else {
            return Ok(());
        };
        let spelling = Spelling::of(&schema);
        for rules in RULES {
            let Ok(fitted) = fit(&schema, rules) else {
                continue;
            };
            let Some(theirs) = validator(&fitted.schema) else {
                panic!("no schema: {}", fitted.schema);
            };
            let again = fit(&fitted.schema, rules).expect("it was fitted before");
            prop_assert_eq!(&again.schema, &fitted.schema);
            if !fitted.lost.is_empty() {
                continue;
            }
            for value in &values {
                let is_written = matches!(spelling, Some(Spelling::Wrapped(_))) || rules.plain_names;
                let written = match &spelling {
                    Some(spelling) if is_written => spelling.write(value.clone()),
                    _ if !value.is_object() => continue,
                    _ => value.clone(),
                };
                if !written.is_object() {
                    continue;
                }
                prop_assert_eq!(
                    own.is_valid(value),
                    theirs.is_valid(&written),
                    "{} as {} in {}", value, written, fitted.schema
                );
                if let Some(spelling) = &spelling {
                    prop_assert_eq!(&spelling.read(written.clone()), value);
                    prop_assert_eq!(spelling.write(written.clone()), spelling.write(value.clone()));
                }
            }
        }
    }
}

#[test]
fn a_model_that_leaves_the_wrapper_out_is_understood() {
    let spelling = Spelling::of(&json!({"anyOf": [{"required": ["a"]}]})).expect("one");
    for (written, own) in [
        (json!({"arguments": {"a": 1}}), json!({"a": 1})),
        (json!({"a": 1}), json!({"a": 1})),
        (json!({}), json!({})),
        (
            json!({"a": 1, "arguments": 2}),
            json!({"a": 1, "arguments": 2}),
        ),
    ] {
        assert_eq!(spelling.read(written), own);
    }
}

#[test]
fn the_wrapper_has_a_name_that_nothing_else_has() {
    let schema =
        json!({"oneOf": [{"properties": {"arguments": {}}}, {"required": ["arguments_2"]}]});
    assert_eq!(
        Spelling::of(&schema),
        Some(Spelling::Wrapped("arguments_3".to_owned()))
    );
}

#[test]
fn a_root_that_takes_more_than_objects_is_wrapped_where_it_names_itself() {
    let wrapped = Some(Spelling::Wrapped("arguments".to_owned()));
    for (kind, spelling) in [
        (json!(null), wrapped.clone()),
        (json!(["object", "null"]), wrapped),
        (json!("object"), None),
    ] {
        let mut schema = json!({"properties": {"next": {"$ref": "#"}}, "type": kind});
        if kind.is_null() {
            schema.as_object_mut().expect("one").shift_remove("type");
        }
        assert_eq!(Spelling::of(&schema), spelling, "{schema}");
    }
}
