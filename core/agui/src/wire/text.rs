//! Bytes that are nearly always text, as a string that can be converted back without loss.

const ESCAPES: std::ops::RangeInclusive<char> = '\u{10FF80}'..='\u{10FFFF}';
const ESCAPE_BASE: u32 = 0x10_FF00;

/// Converts bytes to a string. A byte that is not part of UTF-8 (a character may be cut) is written as the character
/// U+10FF00 plus the byte; such a character in the text itself is written as its four bytes.
pub fn to_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for piece in bytes.utf8_chunks() {
        for character in piece.valid().chars() {
            if ESCAPES.contains(&character) {
                push_escaped(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(character);
            }
        }
        push_escaped(&mut text, piece.invalid());
    }
    text
}

fn push_escaped(text: &mut String, bytes: &[u8]) {
    text.extend(
        bytes
            .iter()
            .filter_map(|byte| char::from_u32(ESCAPE_BASE + u32::from(*byte))),
    );
}

/// Converts a string of [`to_text`] back to its bytes.
pub(crate) fn from_text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        if ESCAPES.contains(&character) {
            bytes.push(character as u8);
        } else {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    bytes
}

/// The serde form of bytes as text, for `#[serde(with)]`.
pub mod as_text {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::borrow::Cow;

    /// Writes bytes as text.
    pub fn serialize<S: Serializer>(
        bytes: &impl AsRef<[u8]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::to_text(bytes.as_ref()))
    }

    /// Reads bytes from text.
    pub fn deserialize<'de, D: Deserializer<'de>, T: From<Vec<u8>>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Ok(super::from_text(&text).into())
    }
}
