//! JSON that is text in a record, and itself where the record is JSON.

use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The text as the JSON that it is.
pub(crate) fn write<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    let value = RawValue::from_string(text.to_owned()).map_err(S::Error::custom)?;
    value.serialize(to)
}

/// Any JSON.
pub(crate) fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Value::deserialize(from)?.to_string())
}

/// Any JSON, where `null` is none.
pub(crate) fn maybe<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let value = Option::<Value>::deserialize(from)?;
    Ok(value.map(|value| value.to_string()))
}
