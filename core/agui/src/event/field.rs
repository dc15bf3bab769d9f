use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, ser::SerializeMap};
use serde_json::{Map, Value};
use std::fmt::Display;

/// An open JSON object of the protocol, such as the metadata that a sender attached.
pub type Metadata = Map<String, Value>;

/// The reason why a JSON value is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EventError {
    /// The object has no non-empty string `type`.
    #[error("not an event: the object has no `type`, which every AG-UI event has")]
    NoType,
    /// A required field is absent.
    #[error("{kind}: the field `{field}` is missing")]
    Missing {
        /// The event's `type`.
        kind: &'static str,
        /// The field's wire name.
        field: &'static str,
    },
    /// A field has a value of the wrong kind.
    #[error("{kind}: the field `{field}` is malformed: {reason}")]
    Malformed {
        /// The event's `type`.
        kind: &'static str,
        /// The field's wire name.
        field: &'static str,
        /// The parser's message.
        reason: String,
    },
    /// A chunk cannot be placed: it names no open item, or contradicts the one that it continues.
    #[error("{kind}: {reason}")]
    Chunk {
        /// The chunk's `type`.
        kind: &'static str,
        /// The description of the mistake.
        reason: String,
    },
}

/// Takes a required field out of an event's object. `null` is a value where the field may be any JSON.
pub(super) fn required<T: DeserializeOwned>(
    map: &mut Metadata,
    kind: &'static str,
    field: &'static str,
) -> Result<T, EventError> {
    let value = map
        .shift_remove(field)
        .ok_or(EventError::Missing { kind, field })?;
    parsed(value, kind, field)
}

/// Takes an optional field out of an event's object. Absent is the only way of saying "none": `null` is refused.
pub(super) fn optional<T: DeserializeOwned>(
    map: &mut Metadata,
    kind: &'static str,
    field: &'static str,
) -> Result<Option<T>, EventError> {
    match map.shift_remove(field) {
        None => Ok(None),
        Some(Value::Null) => Err(malformed(kind, field, &NULL)),
        Some(value) => parsed(value, kind, field).map(Some),
    }
}

fn parsed<T: DeserializeOwned>(
    value: Value,
    kind: &'static str,
    field: &'static str,
) -> Result<T, EventError> {
    serde_json::from_value(value).map_err(|error| malformed(kind, field, &error))
}

pub(super) fn malformed(
    kind: &'static str,
    field: &'static str,
    reason: &dyn Display,
) -> EventError {
    EventError::Malformed {
        kind,
        field,
        reason: reason.to_string(),
    }
}

const NULL: &str = "null is not a value here; leave the field out";

pub(super) trait PutField {
    fn put<S: SerializeMap>(&self, field: &'static str, map: &mut S) -> Result<(), S::Error>;
}

pub(super) struct Required<'a, T>(pub(super) &'a T);
pub(super) struct Optional<'a, T>(pub(super) &'a Option<T>);
/// An optional field of any JSON; `null` would be refused by the reader, so it is left out.
pub(super) struct OptionalJson<'a>(pub(super) &'a Option<Value>);

impl<T: Serialize> PutField for Required<'_, T> {
    fn put<S: SerializeMap>(&self, field: &'static str, map: &mut S) -> Result<(), S::Error> {
        map.serialize_entry(field, self.0)
    }
}

impl<T: Serialize> PutField for Optional<'_, T> {
    fn put<S: SerializeMap>(&self, field: &'static str, map: &mut S) -> Result<(), S::Error> {
        self.0
            .as_ref()
            .map_or(Ok(()), |value| map.serialize_entry(field, value))
    }
}

impl PutField for OptionalJson<'_> {
    fn put<S: SerializeMap>(&self, field: &'static str, map: &mut S) -> Result<(), S::Error> {
        match self.0 {
            None | Some(Value::Null) => Ok(()),
            Some(value) => map.serialize_entry(field, value),
        }
    }
}

/// Reads an optional field of a derived type: an absent field is `None`, and `null` is refused, since AG-UI never sends
/// it.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// [`present`] for fields of any JSON but null.
pub(super) fn present_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Err(serde::de::Error::custom(NULL)),
        value => Ok(Some(value)),
    }
}

/// Returns whether a field of any JSON but null is left out.
pub(super) fn is_absent(value: &Option<Value>) -> bool {
    matches!(value, None | Some(Value::Null))
}

/// An integer that every JSON implementation holds exactly: within ±(2^53 − 1). `1.0` is one too, `1.5` is not.
pub(super) struct SafeInteger(pub(super) i64);

impl<'de> Deserialize<'de> for SafeInteger {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const LARGEST: i64 = (1 << 53) - 1;
        let number = serde_json::Number::deserialize(deserializer)?;
        let whole = number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            // In this range an f64 without a fraction is an i64.
            (float.fract() == 0.0 && float.abs() <= LARGEST as f64).then_some(float as i64)
        });
        match whole {
            Some(whole) if (-LARGEST..=LARGEST).contains(&whole) => Ok(Self(whole)),
            _ => Err(serde::de::Error::custom(format!(
                "{number} is not an integer in the safe range of JSON, ±(2^53 − 1)"
            ))),
        }
    }
}

/// A count: a [`SafeInteger`] that is not negative.
pub(super) fn present_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let SafeInteger(count) = SafeInteger::deserialize(deserializer)?;
    u64::try_from(count)
        .map(Some)
        .map_err(|_| serde::de::Error::custom(format!("a count cannot be {count}")))
}
