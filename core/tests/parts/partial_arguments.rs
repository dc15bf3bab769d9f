//! Partial arguments: never taken back, and equal to the whole at the end.

use crate::arguments::{arguments, cut, extends, lengths, mad};
use crate::cases::cases;
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::tool::{Change, PartialArguments, PartialState, parse_arguments};

/// Reads the pieces and the end, and holds every step to the promises.
fn follow(pieces: &[String]) -> PartialArguments {
    let mut arguments = PartialArguments::new();
    let mut view = Value::Null;
    let mut before = arguments.value();
    let mut text = String::new();
    for piece in pieces.iter().map(Some).chain([None]) {
        let mut replaced = false;
        let on_change = |change: Change<'_>| {
            replaced |= matches!(change, Change::Replace { .. });
            change.apply(&mut view).expect("in order");
        };
        match piece {
            Some(piece) => {
                text.push_str(piece);
                arguments.push_with(piece, on_change);
            }
            None => arguments.finish_with(on_change),
        }
        let value = arguments.value();
        let closed: Value = serde_json::from_str(&arguments.closed_text()).expect("closed");
        assert_eq!(closed, value);
        assert_eq!(view, value, "the changes give another value after {text:?}");
        assert!(
            before.is_null() || replaced || extends(&before, &value),
            "after {text:?}: {before} became {value}"
        );
        if replaced {
            assert!(arguments.has_repeated_keys());
            // Complete, if only until a mistake that came in the same piece.
            assert_ne!(arguments.state(), PartialState::Open);
        }
        match arguments.state() {
            PartialState::Complete if piece.is_some() => {
                assert_eq!(parse_arguments(&text).expect("complete"), value);
                assert_eq!(
                    parse_arguments(&text).expect("complete").to_string(),
                    value.to_string()
                );
            }
            PartialState::Invalid(invalid) => assert!(invalid.at <= arguments.text().len()),
            _ => assert!(text.starts_with(arguments.text())),
        }
        before = value;
    }
    let mut replayed = Value::Null;
    arguments.replay(|change| change.apply(&mut replayed).expect("in order"));
    assert_eq!(replayed, before);
    arguments
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn i16_partial_arguments_are_never_taken_back_and_end_equal_to_the_whole(text in arguments(), lengths in lengths()) {
        let arguments = follow(&cut(&text, &lengths));
        prop_assert_eq!(arguments.state(), PartialState::Complete);
        prop_assert_eq!(arguments.value(), parse_arguments(&text).unwrap());
        prop_assert_eq!(arguments.text(), text);
    }

    #[test]
    fn i16_partial_arguments_are_complete_where_the_parser_takes_the_text_and_only_there(text in mad(), lengths in lengths()) {
        let arguments = follow(&cut(&text, &lengths));
        match parse_arguments(&text) {
            Ok(value) => {
                prop_assert_eq!(arguments.state(), PartialState::Complete);
                prop_assert_eq!(arguments.value(), value);
            }
            Err(error) => prop_assert!(matches!(arguments.state(), PartialState::Invalid(_)), "{error}"),
        }
    }

    #[test]
    fn i16_how_the_text_is_cut_changes_nothing(text in mad(), lengths in lengths()) {
        let mut whole = PartialArguments::new();
        whole.push(&text);
        let mut pieces = PartialArguments::new();
        for piece in cut(&text, &lengths) {
            pieces.push_with(&piece, |_| {});
        }
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn i04_partial_arguments_that_are_written_and_read_go_on_the_same(text in prop_oneof![arguments(), mad()], lengths in lengths()) {
        let mut arguments = PartialArguments::new();
        let mut restored = PartialArguments::new();
        for piece in cut(&text, &lengths).iter().map(Some).chain([None]) {
            match piece {
                Some(piece) => {
                    arguments.push(piece);
                    restored.push(piece);
                }
                None => {
                    arguments.finish();
                    restored.finish();
                }
            }
            let written = serde_json::to_string(&restored).unwrap();
            restored = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(&arguments, &restored);
            prop_assert_eq!(arguments.value(), restored.value());
        }
    }
}

fn read(text: &str) -> PartialArguments {
    let mut arguments = PartialArguments::new();
    arguments.push(text);
    arguments
}

#[test]
fn what_is_not_certain_is_left_out() {
    for (text, value) in [
        ("", json!(null)),
        ("  ", json!(null)),
        ("nul", json!(null)),
        ("12", json!(null)),
        ("{", json!({})),
        (r#"{"a"#, json!({})),
        (r#"{"a":"#, json!({})),
        (r#"{"a":tru"#, json!({})),
        (r#"{"a":true"#, json!({"a": true})),
        (r#"{"a":12"#, json!({})),
        (r#"{"a":12 "#, json!({"a": 12})),
        (r#"{"a":1.5e"#, json!({})),
        (r#"{"a":""#, json!({"a": ""})),
        (r#"{"a":"x\"#, json!({"a": "x"})),
        (r#"{"a":"x\u00e"#, json!({"a": "x"})),
        (r#"{"a":"x\u00e9"#, json!({"a": "xé"})),
        (r#"{"a":"x\ud83d"#, json!({"a": "x"})),
        (r#"{"a":"x\ud83d\ude0"#, json!({"a": "x"})),
        (r#"{"a":"x\ud83d\ude00"#, json!({"a": "x😀"})),
        (r#"{"a":[1,2"#, json!({"a": [1]})),
        (
            r#"{"a":[1,[],{"b":null"#,
            json!({"a": [1, [], {"b": null}]}),
        ),
    ] {
        let arguments = read(text);
        assert_eq!(arguments.value(), value, "{text}");
        assert_eq!(arguments.state(), PartialState::Open, "{text}");
    }
}

#[test]
fn every_way_of_saying_none_is_an_empty_object() {
    for text in ["", " \n", "null", " null\u{a0}", "{}"] {
        let arguments = follow(&cut(text, &[1]));
        assert_eq!(arguments.state(), PartialState::Complete, "{text:?}");
        assert_eq!(arguments.value(), json!({}), "{text:?}");
        assert_eq!(arguments.closed_text(), "{}");
    }
}

#[test]
fn half_of_a_surrogate_pair_is_the_replacement_character() {
    for (text, value) in [
        (r#"{"a":"x\ud83dy"}"#, json!({"a": "x\u{fffd}y"})),
        (r#"{"a":"x\ud83d"}"#, json!({"a": "x\u{fffd}"})),
        (r#"{"a":"x\ude00"}"#, json!({"a": "x\u{fffd}"})),
        (r#"{"a":"x\ud83d\n"}"#, json!({"a": "x\u{fffd}\n"})),
        (r#"{"a":"x\ud83d\u00e9"}"#, json!({"a": "x\u{fffd}é"})),
        (
            r#"{"a":"x\ud83d\ud83d\ude00"}"#,
            json!({"a": "x\u{fffd}😀"}),
        ),
        (r#"{"k\ud83d":1,"k\ud83e":2}"#, json!({"k\u{fffd}": 2})),
        (r#"{"a":"\\ud83d"}"#, json!({"a": "\\ud83d"})),
    ] {
        for size in 1..text.len() {
            let arguments = follow(&cut(text, &[size]));
            assert_eq!(arguments.state(), PartialState::Complete, "{text}");
            assert_eq!(arguments.value(), value, "{text}");
        }
        assert_eq!(parse_arguments(text).expect("read"), value);
    }
    assert!(parse_arguments(r#"{"a":"\ud83d"#).is_err());
}

#[test]
fn a_mistake_is_named_with_its_byte_and_what_was_said_stays() {
    for (text, at, value) in [
        ("{} x", 3, json!({})),
        ("]", 0, json!(null)),
        (r#"{"a":"x","b":tru }"#, 16, json!({"a": "x"})),
        (r#"{"a":"xy\q"}"#, 9, json!({"a": "xy"})),
        ("{\"a\":\"x\n\"}", 7, json!({"a": "x"})),
        (r#"{"a":01}"#, 6, json!({"a": 0})),
        (r#"{"a":[1,1e999]}"#, 8, json!({"a": [1]})),
        (r#"{"a":1,}"#, 7, json!({"a": 1})),
        (r#"{"a":1]"#, 6, json!({"a": 1})),
        (r#"{"é":é}"#, 6, json!({})),
    ] {
        let mut arguments = read(text);
        arguments.push(r#""more":1}"#);
        arguments.finish();
        let PartialState::Invalid(invalid) = arguments.state() else {
            panic!("{text} is {:?}", arguments.state());
        };
        assert_eq!(
            (invalid.at, arguments.value()),
            (at, value),
            "{text}: {invalid}"
        );
        assert!(text.starts_with(arguments.text()));
    }
    let mut open = read(r#"{"a":"x"#);
    open.finish();
    assert!(matches!(open.state(), PartialState::Invalid(invalid) if invalid.at == 7));
    assert_eq!(open.value(), json!({"a": "x"}));
}

#[test]
fn a_key_that_comes_twice_keeps_its_first_value_until_the_end() {
    let mut arguments = read(r#"{"a":{"x":1,"\u0078":2},"a":{"y":["#);
    assert_eq!(arguments.value(), json!({"a": {"x": 1}}));
    assert!(arguments.has_repeated_keys());
    arguments.push(r#"2]},"b":[{"c":"old","c":"new"}]"#);
    assert_eq!(
        arguments.value(),
        json!({"a": {"x": 1}, "b": [{"c": "old"}]})
    );
    let mut said = Vec::new();
    arguments.push_with("}", |change| said.push(json!(change)));
    let whole = json!({"a": {"y": [2]}, "b": [{"c": "new"}]});
    assert_eq!(arguments.value(), whole);
    assert_eq!(
        said,
        [
            json!({"op": "end", "path": ""}),
            json!({"op": "replace", "path": "/a", "value": {"y": [2]}}),
            json!({"op": "replace", "path": "/b/0/c", "value": "new"}),
        ]
    );
    arguments.push("no");
    assert_eq!(arguments.value(), whole);
}

#[test]
fn the_nesting_is_as_deep_as_the_parsers() {
    for (depth, complete) in [(127, true), (128, false), (100_000, false)] {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        let arguments = read(&text);
        assert_eq!(parse_arguments(&text).is_ok(), complete);
        assert_eq!(arguments.state() == PartialState::Complete, complete);
        assert!(serde_json::from_str::<Value>(&arguments.closed_text()).is_ok());
    }
}

#[test]
fn an_object_cannot_pretend_to_be_the_parsers_own() {
    let arguments = read(r#"{"a":{"$serde_json::private::\u0052awValue":"[1]"}}"#);
    assert!(matches!(arguments.state(), PartialState::Invalid(invalid) if invalid.at == 6));
    assert_eq!(arguments.value(), json!({"a": {}}));
}

#[test]
fn one_fragment_gives_one_change_for_a_string() {
    let mut arguments = read(r#"{"a/b":["one","tw"#);
    let mut said = Vec::new();
    arguments.push_with(r#"o\n\u00e9\ud83d\ude00!\ud8"#, |change| {
        said.push(json!(change));
    });
    assert_eq!(
        said,
        [json!({"op": "append", "path": "/a~1b/1", "text": "o\né😀!"})]
    );
}

#[test]
fn a_change_out_of_order_is_an_error() {
    let change = Change::Append {
        path: "/a",
        text: "x",
    };
    for mut value in [json!(null), json!({}), json!({"a": 1}), json!([])] {
        let before = value.clone();
        assert_eq!(change.apply(&mut value).unwrap_err().path, "/a");
        assert_eq!(value, before);
    }
    let add = Change::Add {
        path: "/2",
        value: &json!(1),
    };
    assert!(add.apply(&mut json!([0])).is_err());
}

#[test]
fn i14_a_fragment_of_a_string_allocates_only_for_the_text() {
    let mut arguments = read(r#"{"text":""#);
    arguments.push_with(r"warm\nup 9 bytes", |_| {});
    let mut heard = 0;
    let count = allocation_counter::measure(|| {
        for _ in 0..10_000 {
            arguments.push_with(r"16 bytes\nof text", |change| {
                if let Change::Append { text, .. } = change {
                    heard += text.len();
                }
            });
        }
    });
    assert_eq!(heard, 160_000);
    assert!(count.count_total < 24, "{} allocations", count.count_total);
}

#[test]
fn a_path_has_a_longest_length() {
    let fits = format!(r#"{{"{}":{{"a":[1,2"#, "k".repeat(1_018));
    assert_eq!(read(&fits).state(), PartialState::Open);
    for text in [
        format!(r#"{{"a":1,"{}":2}}"#, "k".repeat(1_024)),
        format!(r#"{{"a":1,"{}":{{"bcdef":2}}}}"#, "k".repeat(1_018)),
        format!(r#"{{"a":1,"{}":[2]}}"#, "k".repeat(1_022)),
    ] {
        let mut arguments = read(&text);
        arguments.finish();
        assert!(matches!(arguments.state(), PartialState::Invalid(_)));
        assert_eq!(arguments.value()["a"], json!(1));
        assert!(parse_arguments(&text).is_ok());
    }
}
