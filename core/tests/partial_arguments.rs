//! Partial arguments: never taken back, and equal to the whole at the end.

use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::tool::{Change, PartialArguments, PartialState, parse_arguments};

/// A value as a model may write it: an object's members as they come, keys twice too.
#[derive(Clone, Debug)]
enum Written {
    Plain(String),
    Text(String),
    Array(Vec<String>),
    Object(Vec<(String, String)>),
}

impl Written {
    fn text(self, blank: &str) -> String {
        let (open, close, items) = match self {
            Self::Plain(text) | Self::Text(text) => return text,
            Self::Array(items) => ('[', ']', items),
            Self::Object(members) => (
                '{',
                '}',
                members
                    .into_iter()
                    .map(|(key, value)| format!("{key}{blank}:{blank}{value}"))
                    .collect(),
            ),
        };
        let items = items.join(&format!("{blank},{blank}"));
        format!("{open}{blank}{items}{blank}{close}")
    }
}

fn blank() -> impl Strategy<Value = &'static str> {
    prop_oneof![5 => Just(""), 1 => Just(" "), 1 => Just("\n\t"), 1 => Just("\r\n  ")]
}

/// One character of a string, in one of the ways to write it.
fn character() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        8 => prop::char::range(' ', '~'),
        2 => prop::sample::select(vec!['"', '\\', '/', '\n', '\u{0}', '\u{7f}', '~', 'é', '中', '😀', '\u{10ffff}', '\u{2028}']),
        1 => any::<char>(),
    ];
    (character, 0..4_u8).prop_map(|(character, way)| match way {
        0 => {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        1 if character == '/' => "\\/".to_owned(),
        _ => {
            let quoted = Value::from(character.to_string()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        }
    })
}

fn string() -> impl Strategy<Value = String> {
    prop::collection::vec(character(), 0..12).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec![r#""a""#, r#""\u0061""#, r#""b""#, r#""""#, r#""a/b~1""#, r#""0""#]).prop_map(str::to_owned),
        2 => string(),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?",
        prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        scalar().prop_map(Written::Plain),
        string().prop_map(Written::Text)
    ]
    .prop_map(|written| written.text(""));
    leaf.prop_recursive(5, 40, 6, |inner| {
        let array = prop::collection::vec(inner.clone(), 0..5).prop_map(Written::Array);
        let object = prop::collection::vec((key(), inner), 0..5).prop_map(Written::Object);
        (prop_oneof![array, object], blank()).prop_map(|(written, blank)| written.text(blank))
    })
}

/// Mostly an object, with blanks around it.
fn arguments() -> impl Strategy<Value = String> {
    let object = (prop::collection::vec((key(), value()), 0..6), blank())
        .prop_map(|(members, blank)| Written::Object(members).text(blank));
    (
        blank(),
        prop_oneof![4 => object, 1 => value()],
        prop_oneof![3 => Just(""), 1 => Just("\n "), 1 => Just("\u{a0}\u{c}")],
    )
        .prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

/// Text that is nearly JSON, or not at all.
fn mad() -> impl Strategy<Value = String> {
    let broken = (
        arguments(),
        any::<prop::sample::Index>(),
        prop_oneof![
            Just(String::new()),
            "[\\[\\]{}\",:\\\\0-9eE+.tfnu \u{0}-\u{1f}-]{1,2}",
            any::<char>().prop_map(String::from)
        ],
        0..3_usize,
    )
        .prop_map(|(text, place, put, taken)| {
            let mut characters: Vec<char> = text.chars().collect();
            let at = place.index(characters.len() + 1);
            let end = (at + taken).min(characters.len());
            characters.splice(at..end, put.chars());
            characters.into_iter().collect()
        });
    prop_oneof![
        4 => broken,
        2 => "([\\[\\]{},:]|\"(\\\\u(d83d|DE00|00e9)|a)?\"?|-?[0-9]{1,3}|[.eE+]|true|null| ){0,14}",
        1 => any::<String>(),
    ]
}

/// Pieces of the text: cut at random places, every one between two characters if there are many.
fn cut(text: &str, lengths: &[usize]) -> Vec<String> {
    let mut lengths = lengths.iter().cycle();
    let mut characters = text.chars().peekable();
    let mut pieces = Vec::new();
    while characters.peek().is_some() {
        let length = lengths.next().copied().unwrap_or(1);
        pieces.push(characters.by_ref().take(length).collect());
    }
    pieces
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(0..20_usize, 1..6).prop_filter("some progress", |lengths| lengths
            .iter()
            .any(|length| *length > 0))
    ]
}

/// Whether `after` says all that `before` did.
fn extends(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(before), Value::String(after)) => after.starts_with(before.as_str()),
        (Value::Array(before), Value::Array(after)) => {
            before.len() <= after.len()
                && before.iter().zip(after).all(|(old, new)| extends(old, new))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() <= after.len()
                && before
                    .iter()
                    .zip(after)
                    .all(|((old_key, old), (key, new))| old_key == key && extends(old, new))
        }
        _ => before == after,
    }
}

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
    #![proptest_config(ProptestConfig::with_cases(1_000))]

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
fn a_mistake_is_named_with_its_byte_and_what_was_said_stays() {
    for (text, at, value) in [
        ("{} x", 3, json!({})),
        ("]", 0, json!(null)),
        (r#"{"a":"x","b":tru }"#, 16, json!({"a": "x"})),
        (r#"{"a":"xy\q"}"#, 9, json!({"a": "xy"})),
        (r#"{"a":"x\ud83dy"}"#, 13, json!({"a": "x"})),
        (r#"{"a":"x\ude00"}"#, 12, json!({"a": "x"})),
        (r#"{"a":"x\ud83d\ud83d\ude00"}"#, 18, json!({"a": "x"})),
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
