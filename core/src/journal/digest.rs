use crate::run::RunMachine;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// A digest of JSON: the same for the same values on every machine, whatever the order of an object's fields.
///
/// The digest is FNV-1a of 64 bits: it detects differences, but does not protect against forgery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    }

    /// A string, or a key: its length keeps neighbours apart.
    fn text(&mut self, text: &str) {
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes(b"n"),
            Value::Bool(true) => self.bytes(b"t"),
            Value::Bool(false) => self.bytes(b"f"),
            Value::Number(number) => {
                self.bytes(b"#");
                self.text(&number.to_string());
            }
            Value::String(text) => {
                self.bytes(b"\"");
                self.text(text);
            }
            Value::Array(items) => {
                self.bytes(b"[");
                self.bytes(&(items.len() as u64).to_le_bytes());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(fields) => {
                self.bytes(b"{");
                self.bytes(&(fields.len() as u64).to_le_bytes());
                let fields: BTreeMap<&str, &Value> = fields
                    .iter()
                    .map(|(name, value)| (name.as_str(), value))
                    .collect();
                for (name, value) in fields {
                    self.text(name);
                    self.value(value);
                }
            }
        }
    }

    /// The digest of a text.
    pub(super) fn of_text(text: &str) -> Self {
        let mut digest = Self::default();
        digest.text(text);
        digest
    }

    /// Returns the digest of a value.
    pub(crate) fn of_value(value: &Value) -> Self {
        let mut digest = Self::default();
        digest.value(value);
        digest
    }

    /// Returns the digest of a run's state, outcome, cost and conversation.
    #[must_use]
    pub fn of_run(machine: &RunMachine) -> Self {
        let mut digest = Self::default();
        digest.value(&json(&machine.state()));
        digest.value(&json(&machine.outcome()));
        digest.value(&json(&machine.usage()));
        digest.value(&json(machine.transcript().messages()));
        digest.value(machine.transcript().shared_state());
        digest
    }
}

/// Returns the value as JSON. The machine's values have string keys, and serialisers that cannot fail.
pub(super) fn json(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16)
            .map(Self)
            .map_err(|_| de::Error::custom(format!("`{text}` is no digest")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn digest(value: &Value) -> Digest {
        Digest::of_value(value)
    }

    #[test]
    fn the_order_of_fields_does_not_count_and_all_else_does() {
        assert_eq!(
            digest(&json!({"a": 1, "b": [2, {"c": 3, "d": 4}]})),
            digest(&json!({"b": [2, {"d": 4, "c": 3}], "a": 1}))
        );
        let others = [
            json!({"a": 1}),
            json!({"a": "1"}),
            json!([1, 2]),
            json!([[1], 2]),
            json!(["ab", "c"]),
            json!(["a", "bc"]),
            json!(null),
            json!(false),
        ];
        for (at, one) in others.iter().enumerate() {
            for other in &others[at + 1..] {
                assert_ne!(digest(one), digest(other), "{one} {other}");
            }
        }
    }

    /// The digests in journals on disk stay what they are.
    #[test]
    fn it_is_frozen() {
        let value = json!({"name": "größer", "list": [null, true, false, 1.5, -3]});
        assert_eq!(digest(&value).to_string(), "09dffbc7ffec1323");
    }
}
