//! Arguments as models write them, and cuts through them. Shared by several tests, each of which uses a part of it.
#![allow(dead_code)]

use proptest::prelude::*;
use serde_json::Value;

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
pub(crate) fn arguments() -> impl Strategy<Value = String> {
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
pub(crate) fn mad() -> impl Strategy<Value = String> {
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
pub(crate) fn cut(text: &str, lengths: &[usize]) -> Vec<String> {
    let mut lengths = lengths.iter().cycle();
    let mut characters = text.chars().peekable();
    let mut pieces = Vec::new();
    while characters.peek().is_some() {
        let length = lengths.next().copied().unwrap_or(1);
        pieces.push(characters.by_ref().take(length).collect());
    }
    pieces
}

pub(crate) fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(0..20_usize, 1..6).prop_filter("some progress", |lengths| lengths
            .iter()
            .any(|length| *length > 0))
    ]
}

/// Whether `after` says all that `before` did.
pub(crate) fn extends(before: &Value, after: &Value) -> bool {
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
