use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// Any JSON: `JsonElement` in Kotlin, `JsonValue` in Swift. The value crosses the boundary as text, and is parsed where
/// it is needed.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonValue(String);

impl JsonValue {
    /// Wraps text that is already JSON. Whether the text is valid is checked when it is parsed.
    #[must_use]
    pub fn from_text(text: String) -> Self {
        Self(text)
    }

    /// Converts a value to JSON.
    #[must_use]
    pub fn of(value: &impl Serialize) -> Self {
        Self(serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

impl fmt::Debug for JsonValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let value = RawValue::from_string(self.0.clone()).map_err(S::Error::custom)?;
        value.serialize(to)
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(Value::deserialize(from)?.to_string()))
    }
}

#[cfg(feature = "uniffi")]
uniffi::custom_type!(JsonValue, String, {
    lower: |json| json.into_text(),
    try_lift: |text| Ok(JsonValue::from_text(text)),
});
