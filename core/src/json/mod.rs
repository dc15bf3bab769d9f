//! One way of reading typed JSON for all that is not on the path of every piece of a stream: snapshots, journals,
//! configurations, records, the fields of events.
//!
//! A text is parsed to a [`Value`] once, and the types are read out of that by one small reader. So there is one copy
//! of the code that reads a type, and a small one, where the ways of serde_json (text, bytes, values, and what serde
//! keeps of tagged types) would each make their own. What a stream says is read by serde_json itself, which borrows.
//!
//! It is here for what the packages ship: the library with the sans-IO API alone had 2,965,408 bytes stripped with it
//! (`cargo xtask prove sizes`), and 3,603,600 where serde_json's own ways read all but the enums told apart by a field.
//! That is a fifth more; these enums, as serde derives them, would add theirs.

mod key;
mod reader;
#[cfg(test)]
mod tests;
mod unquoted;
mod variant;
pub(crate) mod words;

use reader::Reader;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};

pub(crate) use unquoted::unquoted;
pub(crate) use variant::read_tagged;

/// Reads a type from JSON text.
///
/// # Errors
/// The text is not JSON, or not of the type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    read(&mut value(text)?)
}

/// Reads a type from a JSON value.
///
/// # Errors
/// The value is not of the type.
pub fn from_value<T: DeserializeOwned>(mut value: Value) -> Result<T, Error> {
    read(&mut value)
}

/// Reads a type from a JSON value, whose texts are taken out.
pub(crate) fn read<T: DeserializeOwned>(value: &mut Value) -> Result<T, Error> {
    T::deserialize(Reader(Some(value)))
}

/// Reads a field of an object, which is taken out; one that is absent is read as null.
pub(crate) fn field<T: DeserializeOwned>(object: &mut Value, name: &str) -> Result<T, Error> {
    let mut value = object.get_mut(name).map(Value::take).unwrap_or_default();
    read(&mut value)
}

/// JSON text as a value: not generic, so that it is there once.
#[inline(never)]
pub(crate) fn value(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text)
}

/// JSON bytes as a value, by way of text: so that the parser is there once.
#[inline(never)]
pub(crate) fn value_of(bytes: &[u8]) -> Result<Value, Error> {
    value(str::from_utf8(bytes).map_err(serde::de::Error::custom)?)
}

/// A type as a value, by way of its text: so there is one copy of the code that writes it. For what is rarely done.
///
/// # Errors
/// The type cannot be written as JSON.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    self::value(&serde_json::to_string(value)?)
}

/// Takes a field out of an object and reads it.
pub(crate) fn required<T: DeserializeOwned>(
    object: &mut Value,
    name: &'static str,
) -> Result<T, Error> {
    read(object.get_mut(name).ok_or_else(|| missing(name))?)
}

#[cold]
fn missing(name: &'static str) -> Error {
    serde::de::Error::missing_field(name)
}

/// Reads a type by way of a value: for what `#[serde(flatten)]` would keep in a form of its own.
macro_rules! read_from_value {
    ($type:ty, |$value:ident| $read:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                fn read($value: &mut serde_json::Value) -> Result<$type, serde_json::Error> {
                    $read
                }
                let mut value =
                    <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                read(&mut value).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use read_from_value;

/// Reads an enum whose variants are told apart by a field of the object, as `#[serde(tag = "…")]` writes it.
///
/// The second name is a type with the same variants, with serde's `remote`.
macro_rules! told_apart_by {
    ($tag:literal, $type:ty, $variants:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                fn read(value: &mut serde_json::Value) -> Result<$type, serde_json::Error> {
                    $crate::json::read_tagged(value, $tag, |tagged| {
                        <$variants>::deserialize(tagged)
                    })
                }
                let mut value =
                    <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                read(&mut value).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use told_apart_by;

/// Whether a word is the name of one of an enum's variants.
pub(crate) fn is_variant<T: for<'de> Deserialize<'de>>(word: &str) -> bool {
    from_value::<T>(word.into()).is_ok()
}
