use super::{from_str, from_value, to_value};
use crate::CallKey;
use crate::event::{Event, Message, RunAgentInput, RunOutcome};
use crate::run::{BlockContent, Outcome, RunConfig};
use crate::tool::OwnedChange;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Colour {
    Red,
    DeepBlue,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Newtype(u32);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair(i64, String);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Nothing,
    One(Newtype),
    Two(u8, Option<bool>),
    #[serde(rename = "the fields", rename_all = "camelCase")]
    Fields {
        some_text: String,
        #[serde(default)]
        inner: Option<Box<Self>>,
    },
}

/// Every shape that serde knows, and the attributes that the core's types use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Everything {
    flag: bool,
    small: i8,
    large: u64,
    negative: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    real: Option<f64>,
    letter: char,
    text: String,
    maybe: Option<Newtype>,
    twice: Option<Option<u8>>,
    pair: Pair,
    tuple: (u16, Colour, ()),
    unit: Unit,
    list: Vec<Shape>,
    queue: VecDeque<i32>,
    set: BTreeSet<String>,
    by_text: BTreeMap<String, Shape>,
    by_number: BTreeMap<u32, Colour>,
    by_negative: BTreeMap<i64, bool>,
    by_colour: BTreeMap<Colour, Vec<u8>>,
    by_flag: BTreeMap<bool, u8>,
    any: Value,
    #[serde(rename = "the shape")]
    shape: Shape,
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Nothing),
        any::<u32>().prop_map(|number| Shape::One(Newtype(number))),
        any::<(u8, Option<bool>)>().prop_map(|(a, b)| Shape::Two(a, b)),
    ];
    leaf.prop_recursive(3, 8, 1, |inner| {
        (any::<String>(), proptest::option::of(inner)).prop_map(|(some_text, inner)| {
            Shape::Fields {
                some_text,
                inner: inner.map(Box::new),
            }
        })
    })
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300f64).prop_map(Value::from),
        "[a-z\u{e9}\"\\\\]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{0,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn colour() -> impl Strategy<Value = Colour> {
    prop_oneof![Just(Colour::Red), Just(Colour::DeepBlue)]
}

fn everything() -> impl Strategy<Value = Everything> {
    use proptest::collection::{btree_map, btree_set, vec, vec_deque};
    let plain = (
        any::<(bool, i8, u64, i64)>(),
        proptest::option::of(-1e300..1e300f64),
        any::<(char, String, Option<u32>)>(),
        any::<(Option<u8>, i64, String, u16)>(),
        colour(),
    );
    let many = (
        vec(shape(), 0..4),
        vec_deque(any::<i32>(), 0..4),
        btree_set(any::<String>(), 0..3),
        btree_map(any::<String>(), shape(), 0..3),
        btree_map(any::<u32>(), colour(), 0..3),
        btree_map(any::<i64>(), any::<bool>(), 0..3),
        btree_map(colour(), any::<Vec<u8>>(), 0..2),
        btree_map(any::<bool>(), any::<u8>(), 0..3),
    );
    (plain, many, json(), shape()).prop_map(|(plain, many, any, shape)| {
        let ((flag, small, large, negative), real, (letter, text, maybe), more, colour) = plain;
        let (twice, number, word, short) = more;
        let (list, queue, set, by_text, by_number, by_negative, by_colour, by_flag) = many;
        Everything {
            flag,
            small,
            large,
            negative,
            real,
            letter,
            text,
            maybe: maybe.map(Newtype),
            twice: twice.map(Some),
            pair: Pair(number, word),
            tuple: (short, colour, ()),
            unit: Unit,
            list,
            queue,
            set,
            by_text,
            by_number,
            by_negative,
            by_colour,
            by_flag,
            any,
            shape,
        }
    })
}

/// Reads a text by both ways: both give the same, or neither reads it.
#[track_caller]
fn both<T: DeserializeOwned + PartialEq + Debug>(text: &str) -> Option<T> {
    let theirs = serde_json::from_str::<T>(text);
    let ours = from_str::<T>(text);
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => {
            assert_eq!(theirs, ours, "{text}");
            Some(ours)
        }
        (Err(_), Err(_)) => None,
        (theirs, ours) => panic!("{text}: serde_json {theirs:?}, here {ours:?}"),
    }
}

/// The values of a JSON text, each in turn replaced by another.
fn spoilt(value: &Value, with: &Value) -> Vec<Value> {
    let mut all = vec![with.clone()];
    match value {
        Value::Array(items) => {
            for index in 0..items.len() {
                for other in spoilt(&items[index], with) {
                    let mut items = items.clone();
                    items[index] = other;
                    all.push(items.into());
                }
            }
        }
        Value::Object(members) => {
            for key in members.keys() {
                for other in spoilt(&members[key], with) {
                    let mut members = members.clone();
                    members[key] = other;
                    all.push(members.into());
                }
                let mut fewer = members.clone();
                fewer.shift_remove(key);
                all.push(fewer.into());
            }
            let mut more = members.clone();
            more.insert("another".to_owned(), with.clone());
            all.push(more.into());
        }
        _ => {}
    }
    all
}

proptest! {
    #[test]
    fn every_shape_is_read_as_serde_json_reads_it(value in everything()) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(both::<Everything>(&text), Some(value.clone()));
        let written = to_value(&value).unwrap();
        prop_assert_eq!(&written, &serde_json::to_value(&value).unwrap());
        prop_assert_eq!(from_value::<Everything>(written).unwrap(), value);
    }

    #[test]
    fn what_serde_json_refuses_is_refused(value in everything(), with in json()) {
        let value = serde_json::to_value(&value).unwrap();
        for spoilt in spoilt(&value, &with) {
            // serde_json reads a struct out of an array, too, which nobody writes.
            if !with.is_array() {
                both::<Everything>(&spoilt.to_string());
            }
        }
    }

    #[test]
    fn any_json_is_itself(value in json()) {
        prop_assert_eq!(both::<Value>(&value.to_string()), Some(value));
    }
}

/// Each place of a text that is right, spoilt by values of every kind, is read or refused as serde_json does it.
#[track_caller]
fn and_spoilt<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) {
    let read: T = both(text).expect(text);
    let written = serde_json::to_value(&read).unwrap();
    assert_eq!(written, serde_json::from_str::<Value>(text).unwrap());
    for with in [
        r#"null"#,
        "true",
        "7",
        "-7",
        "0.5",
        r#""x""#,
        "[]",
        "{}",
        r#"{"x":1}"#,
    ] {
        let with = serde_json::from_str(with).unwrap();
        for spoilt in spoilt(&written, &with) {
            both::<T>(&spoilt.to_string());
        }
    }
}

#[test]
fn messages_are_read_alike() {
    for text in [
        r#"{"role":"user","id":"m","content":"hi","name":"n","extra":{"a":[1]}}"#,
        r#"{"role":"user","id":"m","content":[{"type":"text","text":"t","x":1},{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}},{"type":"document","source":{"type":"file","value":"f","provider":"p"}}]}"#,
        r#"{"role":"assistant","id":"m","content":"c","toolCalls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"},"metadata":{"k":null}}]}"#,
        r#"{"role":"tool","id":"m","toolCallId":"c","content":"r","error":"e"}"#,
        r#"{"role":"activity","id":"m","activityType":"a","content":{"k":1}}"#,
    ] {
        and_spoilt::<Message>(text);
    }
}

#[test]
fn enums_told_apart_by_a_field_are_read_alike() {
    and_spoilt::<RunOutcome>(r#"{"type":"success","pendingToolCallIds":["a"]}"#);
    and_spoilt::<RunOutcome>(
        r#"{"type":"interrupt","interrupts":[{"id":"i","reason":"r","expiresAt":"t","more":1}]}"#,
    );
    and_spoilt::<RunOutcome>(r#"{"type":"cancelled"}"#);
    and_spoilt::<OwnedChange>(r#"{"op":"add","path":"/a","value":{"b":[1.5,-3]}}"#);
    and_spoilt::<Outcome>(
        r#"{"outcome":"failed","failure":{"failure":"limit_reached","limit":{"kind":"no_progress","tool":"t","times":3}}}"#,
    );
    let key = serde_json::to_string(&CallKey { hop: 1, index: 2 }).unwrap();
    and_spoilt::<BlockContent>(&format!(
        r#"{{"type":"tool_use","call":{key},"tool_call_id":"c","name":"n","arguments":"{{}}"}}"#
    ));
    and_spoilt::<BlockContent>(&format!(
        r#"{{"type":"approval","call":{key},"decision":{{"denied":{{"reason":null}}}}}}"#
    ));
}

#[test]
fn events_and_inputs_are_read_alike() {
    and_spoilt::<Event>(
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":{"a":1},"usage":[{"inputTokens":3,"model":"m"}],"timestamp":5}"#,
    );
    and_spoilt::<RunAgentInput>(
        r#"{"threadId":"t","runId":"r","state":{"a":1},"messages":[{"role":"developer","id":"m","content":"c"}],"tools":[{"name":"n","description":"d","parameters":{"type":"object"}}],"context":[{"description":"d","value":"v"}],"resume":[{"interruptId":"i","status":"resolved","payload":1}]}"#,
    );
}

#[test]
fn a_configuration_is_read_alike() {
    let endpoint = r#"{"address":"https://h/","dialect":"anthropic","model":"m"}"#;
    let text = format!(r#"{{"endpoint":{endpoint}}}"#);
    both::<RunConfig>(&text);
    assert!(from_str::<RunConfig>("{").is_err());
}

#[test]
fn an_error_says_what_is_wrong() {
    let error = |text: &str| from_str::<Message>(text).unwrap_err().to_string();
    assert_eq!(error(r#"{"id":"m"}"#), "missing field `role`");
    assert!(error(r#"{"role":"nobody","id":"m"}"#).starts_with("unknown variant `nobody`"));
    assert_eq!(
        error(r#"{"role":"system","id":"m","content":5}"#),
        "invalid type: integer `5`, expected a string"
    );
    // What is no JSON says where.
    assert_eq!(
        error(r#"{"role" "system"}"#),
        "expected `:` at line 1 column 9"
    );
}
