//! Reading a frame with serde: strict about JSON, lenient about shapes. A field that is not of the kind it should be
//! counts as absent, so that a server's odd extra costs nothing that was said beside it.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use std::borrow::Cow;

/// A field of any kind: absent, or as it stands in the frame. `null` counts as absent.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// Whether the field is there and its JSON begins so: `[`, `{` or `"`.
pub(super) fn starts_with(raw: Raw<'_>, first: char) -> bool {
    raw.is_some_and(|raw| raw.get().starts_with(first))
}

/// An object, read as a view.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<Option<T>, Error> {
    raw.filter(|_| starts_with(raw, '{'))
        .map(|raw| serde_json::from_str(raw.get()))
        .transpose()
}

/// The items of an array; none of anything else.
pub(super) fn list<'a>(raw: Raw<'a>) -> Result<Vec<&'a RawValue>, Error> {
    raw.filter(|_| starts_with(raw, '['))
        .map_or_else(|| Ok(Vec::new()), |raw| serde_json::from_str(raw.get()))
}

/// A string that is not empty.
pub(super) fn text<'a>(raw: Raw<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    // The derive borrows only for a field that is literally a `Cow`.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    let text = raw
        .filter(|_| starts_with(raw, '"'))
        .map(|raw| serde_json::from_str::<Text<'a>>(raw.get()))
        .transpose()?;
    Ok(text.map(|text| text.0).filter(|text| !text.is_empty()))
}

/// A call's arguments: JSON as a string; a server may send the JSON itself.
pub(super) fn arguments<'a>(raw: Raw<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    match raw {
        Some(raw) if !raw.get().starts_with('"') => Ok(Some(Cow::Borrowed(raw.get()))),
        raw => text(raw),
    }
}

/// A number that is a plain run of digits.
pub(super) fn number(raw: Raw<'_>) -> Option<u64> {
    raw?.get().parse().ok()
}

/// A count of tokens, also where it is written as `12.0`. What an AG-UI event cannot hold, 2^53 and more, is no count.
pub(super) fn count(value: &Value) -> Option<u64> {
    const LIMIT: u64 = 1 << 53;
    let count = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        // Within the range checked here the cast is exact.
        (float.fract() == 0.0 && (0.0..LIMIT as f64).contains(&float)).then_some(float as u64)
    })?;
    (count < LIMIT).then_some(count)
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
}
