use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, ser::SerializeMap};
use serde_json::{Map, Value};

/// An open object of the protocol: what a sender attached, kept as it is.
pub type Metadata = Map<String, Value>;

/// Why a JSON value is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The object has no non-empty string `type`.
    #[error("not an event: the object has no `type`; every AG-UI event names its type")]
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
        /// What the parser found.
        reason: String,
    },
}

/// Takes a required field out of an event's object.
pub(super) fn required<T: DeserializeOwned>(
    map: &mut Metadata,
    kind: &'static str,
    field: &'static str,
) -> Result<T, EventError> {
    optional(map, kind, field)?.ok_or(EventError::Missing { kind, field })
}

/// Takes an optional field out of an event's object. `null` is a value here, and only some types have it.
pub(super) fn optional<T: DeserializeOwned>(
    map: &mut Metadata,
    kind: &'static str,
    field: &'static str,
) -> Result<Option<T>, EventError> {
    map.shift_remove(field)
        .map(|value| {
            serde_json::from_value(value).map_err(|error| EventError::Malformed {
                kind,
                field,
                reason: error.to_string(),
            })
        })
        .transpose()
}

pub(super) trait PutField {
    fn put<S: SerializeMap>(&self, field: &'static str, map: &mut S) -> Result<(), S::Error>;
}

pub(super) struct Required<'a, T>(pub(super) &'a T);
pub(super) struct Optional<'a, T>(pub(super) &'a Option<T>);

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

/// For optional fields of derived types: absent is `None`, `null` is refused, since AG-UI never sends it.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// An integer that every JSON implementation holds exactly: within ±(2^53 − 1).
pub(super) fn safe_integer(value: i64) -> Result<i64, String> {
    const LARGEST: i64 = (1 << 53) - 1;
    if value.abs() <= LARGEST {
        Ok(value)
    } else {
        Err(format!(
            "{value} is outside the safe range of JSON integers"
        ))
    }
}

/// [`safe_integer`] for derived types.
pub(super) fn present_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let count = u64::deserialize(deserializer)?;
    if count < 1 << 53 {
        Ok(Some(count))
    } else {
        Err(serde::de::Error::custom(format!(
            "{count} is outside the safe range of JSON integers"
        )))
    }
}
