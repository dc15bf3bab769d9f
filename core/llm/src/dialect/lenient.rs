//! Lenient reading of frames with serde: strict about JSON, lenient about types. A field of the wrong type counts as
//! absent, so that it does not affect the rest of the frame.

use super::mend;
use crate::Usd;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use std::borrow::Cow;
use std::ops::Deref;

/// A field of any type: absent, or its JSON in the frame. `null` counts as absent.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// Returns whether the field is present and its JSON begins with this character: `[`, `{` or `"`.
pub(super) fn starts_with(raw: Raw<'_>, first: char) -> bool {
    raw.is_some_and(|raw| raw.get().starts_with(first))
}

/// Reads an object into a view.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<Option<T>, Error> {
    raw.filter(|_| starts_with(raw, '{'))
        .map(|raw| serde_json::from_str(raw.get()))
        .transpose()
}

/// Returns the items of an array, or none for any other type.
pub(super) fn list<'a>(raw: Raw<'a>) -> Result<Vec<&'a RawValue>, Error> {
    raw.filter(|_| starts_with(raw, '['))
        .map_or_else(|| Ok(Vec::new()), |raw| serde_json::from_str(raw.get()))
}

/// Returns a string, which may be empty.
pub(super) fn string<'a>(raw: Raw<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    // The derive borrows only for a field that is literally a `Cow`.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    let text = raw
        .filter(|_| starts_with(raw, '"'))
        .map(|raw| serde_json::from_str::<Text<'a>>(raw.get()))
        .transpose()?;
    Ok(text.map(|text| text.0))
}

/// Returns a string that is not empty.
pub(super) fn text<'a>(raw: Raw<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    Ok(string(raw)?.filter(|text| !text.is_empty()))
}

/// A string that is not empty, with its JSON in the frame.
#[derive(Debug)]
pub(super) struct Spelled<'a> {
    text: Cow<'a, str>,
    /// The JSON, with its quotes and escapes.
    pub(super) raw: &'a RawValue,
}

impl Deref for Spelled<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// Returns a string that is not empty, with its JSON in the frame.
pub(super) fn spelled<'a>(raw: Raw<'a>) -> Result<Option<Spelled<'a>>, Error> {
    let text = text(raw)?;
    Ok(text.zip(raw).map(|(text, raw)| Spelled { text, raw }))
}

/// Returns whether the field is `true`.
pub(super) fn is_true(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// Returns a call's arguments, which a server may send as a string or as JSON.
pub(super) fn arguments<'a>(raw: Raw<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    match raw {
        Some(raw) if !raw.get().starts_with('"') => Ok(Some(json_text(raw))),
        raw => text(raw),
    }
}

/// Returns the JSON in the frame as text, repaired, since not all of it has been parsed.
pub(super) fn json_text(raw: &RawValue) -> Cow<'_, str> {
    mend::settled(raw.get().as_bytes()).map_or(raw.get().into(), Cow::Owned)
}

/// Returns an index: an integer in any JSON notation (`0`, `0.0`, `1e0`) or in a string; `None` if the field is absent.
///
/// # Errors
/// The field is not an integer, so its item cannot be placed.
pub(super) fn index(raw: Raw<'_>) -> Result<Option<u64>, Error> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    let digits = raw.get().trim_matches('"').trim();
    let index = digits.parse().ok().or_else(|| whole(digits.parse().ok()?));
    match index {
        Some(index) => Ok(Some(index)),
        None => Err(Error::custom(format_args!(
            "an index is a whole number, and this is {}",
            super::excerpt(raw.get().as_bytes())
        ))),
    }
}

/// The first integer that not every JSON implementation can represent exactly.
pub(super) const COUNT_LIMIT: u64 = 1 << 53;

/// Returns a token count.
pub(super) fn token_count(raw: Raw<'_>) -> Option<u64> {
    count(&serde_json::from_str(raw?.get()).ok()?)
}

/// Returns a token count, which may be written as `12.0`. Counts of 2^53 and more, which an AG-UI event cannot hold,
/// are ignored.
pub(super) fn count(value: &Value) -> Option<u64> {
    let count = value.as_u64().or_else(|| whole(value.as_f64()?))?;
    (count < COUNT_LIMIT).then_some(count)
}

/// Returns an amount of US dollars.
pub(super) fn dollars(value: &Value) -> Option<Usd> {
    Usd::from_dollars(value.as_f64()?).ok()
}

fn whole(float: f64) -> Option<u64> {
    // Within the range checked here the cast is exact.
    (float.fract() == 0.0 && (0.0..COUNT_LIMIT as f64).contains(&float)).then_some(float as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_are_whole_and_within_what_json_holds() {
        assert_eq!(count(&json!(12)), Some(12));
        assert_eq!(count(&json!(12.0)), Some(12));
        for odd in [
            json!(12.5),
            json!(-1),
            json!("12"),
            json!(1_u64 << 53),
            json!(1e300),
            Value::Null,
        ] {
            assert_eq!(count(&odd), None, "{odd}");
        }
    }

    #[test]
    fn an_index_is_a_whole_number_however_it_is_written() {
        let read = |text: &str| {
            let raw: Box<RawValue> = serde_json::from_str(text).expect("JSON");
            index(Some(&raw)).ok()
        };
        for (text, expected) in [
            ("7", 7),
            ("7.0", 7),
            ("7e0", 7),
            ("70E-1", 7),
            ("-0.0", 0),
            (r#""7""#, 7),
            (r#"" 7.0 ""#, 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(read(text), Some(Some(expected)), "{text}");
        }
        for odd in [
            "7.5", "-1", "1e300", r#""""#, r#""one""#, "true", "[7]", "{}",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
        assert_eq!(index(None).ok(), Some(None));
    }
}
