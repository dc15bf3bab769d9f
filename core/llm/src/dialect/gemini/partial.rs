//! Arguments in fragments, each with its place: Vertex AI's `partialArgs`.

use super::super::{AnswerLimit, DecodeError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The approximate maximum size of the arguments of one call, in bytes: the limit of an answer, and the places in
/// addition.
const LIMIT: usize = 33 * 1024 * 1024;

/// The size of a value in addition to its own bytes.
const VALUE: usize = 64;

/// The maximum number of list items that a fragment may skip, to come later: a place is a number from the peer, and
/// must not decide how much memory is allocated.
const GAP: usize = 16;

/// The maximum depth of a path.
const MAX_DEPTH: usize = 64;

/// A part of the arguments.
#[derive(Debug)]
pub(super) struct PartialArg<'a> {
    /// The place: a JSON path such as `$.list[0].name`.
    pub(super) path: Cow<'a, str>,
    pub(super) value: PartialValue<'a>,
}

#[derive(Debug)]
pub(super) enum PartialValue<'a> {
    /// More of a string.
    Text(Cow<'a, str>),
    /// A number, a boolean or null.
    Plain(Value),
}

/// The arguments of one call so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Assembly {
    value: Value,
    weight: usize,
}

enum Step<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

impl Assembly {
    /// Begins with the arguments that came complete, if any did.
    pub(super) fn new(arguments: Option<&str>) -> Self {
        let whole: Option<Map<String, Value>> =
            arguments.and_then(|text| serde_json::from_str(text).ok());
        Self {
            value: Value::Object(whole.unwrap_or_default()),
            weight: arguments.map_or(0, str::len),
        }
    }

    /// Puts a fragment in its place. Returns `false` if there is no such place.
    ///
    /// # Errors
    /// The arguments are too large.
    pub(super) fn put(&mut self, piece: &PartialArg<'_>) -> Result<bool, DecodeError> {
        let Some(steps) = steps(&piece.path) else {
            return Ok(false);
        };
        let Self { value, weight } = self;
        let mut place = value;
        for step in steps {
            let Some(next) = enter(place, step, weight)? else {
                return Ok(false);
            };
            place = next;
        }
        match (&piece.value, place) {
            (PartialValue::Text(more), Value::String(text)) => {
                grow(weight, more.len())?;
                text.push_str(more);
            }
            (PartialValue::Text(text), place) => {
                grow(weight, text.len())?;
                *place = Value::String(text.to_string());
            }
            // The fragment only states that there is a value.
            (PartialValue::Plain(Value::Null), _) => {}
            (PartialValue::Plain(value), place) => *place = value.clone(),
        }
        Ok(true)
    }

    /// Returns the arguments as JSON text.
    pub(super) fn into_text(self) -> String {
        self.value.to_string()
    }
}

fn grow(weight: &mut usize, more: usize) -> Result<(), DecodeError> {
    *weight = weight.saturating_add(more);
    if *weight > LIMIT {
        return Err(AnswerLimit::held(LIMIT).into());
    }
    Ok(())
}

/// Returns the value one step further, creating it if needed; `None` if another value is there.
fn enter<'v>(
    place: &'v mut Value,
    step: Step<'_>,
    weight: &mut usize,
) -> Result<Option<&'v mut Value>, DecodeError> {
    if place.is_null() {
        *place = match step {
            Step::Key(_) => Value::Object(Map::new()),
            Step::Index(_) => Value::Array(Vec::new()),
        };
    }
    Ok(match (place, step) {
        (Value::Object(fields), Step::Key(key)) => {
            if !fields.contains_key(key.as_ref()) {
                grow(weight, key.len() + VALUE)?;
            }
            Some(fields.entry(key).or_insert(Value::Null))
        }
        (Value::Array(items), Step::Index(index)) => {
            if index >= items.len() {
                let missing = index - items.len();
                if missing >= GAP {
                    return Ok(None);
                }
                grow(weight, (missing + 1) * VALUE)?;
                items.resize(index + 1, Value::Null);
            }
            items.get_mut(index)
        }
        _ => None,
    })
}

/// Returns the steps of a path after its `$`: at least one. Returns `None` for an invalid path.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            (Step::Key(name.into()), after)
        } else {
            let inner = rest.strip_prefix('[')?;
            let quote = inner.chars().next()?;
            if matches!(quote, '\'' | '"') {
                let (key, after) = quoted(&inner[1..], quote)?;
                (Step::Key(key), after.strip_prefix(']')?)
            } else {
                let (digits, after) = inner.split_once(']')?;
                (Step::Index(digits.parse().ok()?), after)
            }
        };
        steps.push(step);
        rest = after;
        if steps.len() > MAX_DEPTH {
            return None;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

/// Splits a key at its closing quote from the text after it. A backslash makes the next character plain.
fn quoted(text: &str, quote: char) -> Option<(Cow<'_, str>, &str)> {
    let mut key = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => key.push(chars.next()?.1),
            _ if char == quote => return Some((key.into(), &text[at + quote.len_utf8()..])),
            _ => key.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text<'a>(path: &'a str, piece: &'a str) -> PartialArg<'a> {
        PartialArg {
            path: path.into(),
            value: PartialValue::Text(piece.into()),
        }
    }

    fn plain(path: &str, value: Value) -> PartialArg<'_> {
        PartialArg {
            path: path.into(),
            value: PartialValue::Plain(value),
        }
    }

    #[test]
    fn pieces_make_the_arguments() {
        let mut assembly = Assembly::new(None);
        for piece in [
            text("$.city", "New "),
            plain("$.days", json!(3)),
            text("$.city", "Delhi"),
            plain("$.where[1].exact", json!(true)),
            text("$.where[0].name", "a"),
            text("$['odd.key']", "x"),
            text("$[\"q\\\"\"]", "y"),
            plain("$.nothing", Value::Null),
        ] {
            assert!(assembly.put(&piece).unwrap(), "{piece:?}");
        }
        let value: Value = serde_json::from_str(&assembly.into_text()).unwrap();
        assert_eq!(
            value,
            json!({
                "city": "New Delhi", "days": 3, "where": [{"name": "a"}, {"exact": true}],
                "odd.key": "x", "q\"": "y", "nothing": null
            })
        );
    }

    #[test]
    fn a_piece_without_a_place_changes_nothing() {
        let mut assembly = Assembly::new(Some(r#"{"a":{"b":"c"}}"#));
        let deep = format!("${}", ".x".repeat(MAX_DEPTH + 1));
        for path in [
            "", "$", "a", "$a", "$[", "$[x]", "$[-1]", "$['a", "$['a'", "$[0]", "$.a.b.c", &deep,
        ] {
            assert!(!assembly.put(&text(path, "x")).unwrap(), "{path}");
        }
        assert_eq!(assembly.into_text(), r#"{"a":{"b":"c"}}"#);
    }

    #[test]
    fn there_is_a_bound() {
        let mut assembly = Assembly::new(None);
        let far = format!("$.a[{GAP}]");
        let farthest = format!("$.a[{}]", usize::MAX);
        for path in [&far, &farthest, "$.a[99999999999999999999999]"] {
            assert!(!assembly.put(&text(path, "x")).unwrap(), "{path}");
        }
        assert!(assembly.put(&text("$.a[15]", "x")).unwrap());
        let mut assembly = Assembly::new(None);
        let long = "x".repeat(LIMIT / 4);
        let put: Vec<_> = (0..5)
            .map(|_| assembly.put(&text("$.a", &long)).is_ok())
            .collect();
        assert_eq!(put, [true, true, true, false, false]);
    }
}
