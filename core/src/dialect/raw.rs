//! Reading a frame strictly as JSON and leniently in shape: a field that is not of the kind it should be counts as
//! absent, so that a server's odd extra costs nothing that was said beside it.

use serde::Deserialize;
use serde_json::Error;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A field of any kind, or none.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// Numbers from here on cannot be held exactly by every peer.
pub(super) const COUNT_LIMIT: u64 = 1 << 53;

/// The fields of an object.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<Option<T>, Error> {
    raw.filter(|_| starts_with(raw, '{'))
        .map(|raw| serde_json::from_str(raw.get()))
        .transpose()
}

/// The items of a list; none where it is no list.
pub(super) fn list<'a>(raw: Raw<'a>) -> Result<Vec<&'a RawValue>, Error> {
    raw.filter(|_| starts_with(raw, '['))
        .map_or_else(|| Ok(Vec::new()), |raw| serde_json::from_str(raw.get()))
}

/// A string, empty or not.
pub(super) fn string<'a>(raw: Raw<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    // The derive borrows only for a field that is literally a `Cow`.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    raw.filter(|_| starts_with(raw, '"'))
        .map(|raw| serde_json::from_str::<Text<'a>>(raw.get()).map(|text| text.0))
        .transpose()
}

/// A string that is not empty.
pub(super) fn text<'a>(raw: Raw<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    Ok(string(raw)?.filter(|text| !text.is_empty()))
}

/// A whole number, also where it is written as `12.0`.
pub(super) fn count(raw: Raw<'_>) -> Option<u64> {
    let digits = raw?.get();
    let count = digits.parse().ok().or_else(|| {
        let float: f64 = digits.parse().ok()?;
        // Within the range checked here the cast is exact.
        (float.fract() == 0.0 && (0.0..COUNT_LIMIT as f64).contains(&float)).then_some(float as u64)
    })?;
    (count < COUNT_LIMIT).then_some(count)
}

/// Whether it is `true`.
pub(super) fn is_true(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

pub(super) fn starts_with(raw: Raw<'_>, first: char) -> bool {
    raw.is_some_and(|raw| raw.get().starts_with(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_and_within_what_json_holds() {
        let count = |text: &str| {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            count(Some(raw))
        };
        assert_eq!(count("12"), Some(12));
        assert_eq!(count("12.0"), Some(12));
        for odd in ["12.5", "-1", "\"12\"", "9007199254740992", "1e300", "null"] {
            assert_eq!(count(odd), None, "{odd}");
        }
    }

    #[test]
    fn another_kind_counts_as_absent() {
        let raw: &RawValue = serde_json::from_str("7").unwrap();
        assert_eq!(text(Some(raw)).unwrap(), None);
        assert!(list(Some(raw)).unwrap().is_empty());
        assert_eq!(object::<u8>(Some(raw)).unwrap(), None);
        assert!(!is_true(Some(raw)));
    }
}
