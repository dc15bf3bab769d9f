use super::text::{from_text, to_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, ops::Deref};

/// Bytes kept between two chunks: only appended to, never beyond a limit.
///
/// Serialised as a string: see [`to_text`].
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Buffer(Vec<u8>);

/// A buffer would have to grow beyond its limit.
#[derive(Debug)]
pub(super) struct Full;

impl Buffer {
    /// Appends, or leaves the buffer as it is if it would then hold more than `limit` bytes.
    #[inline]
    pub(super) fn append(&mut self, more: &[u8], limit: usize) -> Result<(), Full> {
        let needed = self.0.len().saturating_add(more.len());
        if needed > limit {
            return Err(Full);
        }
        if needed > self.0.capacity() {
            // Doubles as a vector does, but never takes room beyond the limit.
            let room = self.0.capacity().saturating_mul(2).max(64);
            let room = room.min(limit).max(needed);
            self.0.reserve_exact(room - self.0.len());
            #[cfg(test)]
            work::copied(self.0.len());
        }
        #[cfg(test)]
        work::copied(more.len());
        self.0.extend_from_slice(more);
        Ok(())
    }

    #[inline]
    pub(super) fn set(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.reserve_exact(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl Serialize for Buffer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_text(&self.0))
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl de::Visitor<'_> for Text {
            type Value = Buffer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the kept bytes as a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Buffer, E> {
                Ok(Buffer(from_text(text)))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// Counts the work of a test, to show how it grows.
#[cfg(test)]
pub(super) mod work {
    use std::cell::Cell;

    thread_local! {
        static COPIED: Cell<usize> = const { Cell::new(0) };
        static SEARCHED: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn copied(bytes: usize) {
        COPIED.set(COPIED.get() + bytes);
    }

    pub(crate) fn searched(bytes: usize) {
        SEARCHED.set(SEARCHED.get() + bytes);
    }

    /// The bytes copied and searched on this thread since the last call.
    pub(crate) fn take() -> (usize, usize) {
        (COPIED.take(), SEARCHED.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn buffer(bytes: &[u8]) -> Buffer {
        Buffer(bytes.to_vec())
    }

    #[test]
    fn text_is_serialised_as_it_is_and_a_cut_character_is_kept() {
        let cut = buffer("data: \"é".as_bytes());
        assert_eq!(
            serde_json::to_string(&cut).unwrap(),
            r#""data: \"é""#,
            "readable"
        );
        let cut = buffer(&"é".as_bytes()[..1]);
        assert_eq!(serde_json::to_string(&cut).unwrap(), "\"\u{10FFC3}\"");
    }

    #[test]
    fn refuses_what_is_not_a_string() {
        assert!(serde_json::from_str::<Buffer>("[1]").is_err());
    }

    #[test]
    fn holds_at_most_its_limit() {
        let mut kept = Buffer::default();
        for _ in 0..100 {
            kept.append(b"x", 100).unwrap();
            assert!(kept.capacity() <= 100, "{}", kept.capacity());
        }
        assert!(kept.append(b"x", 100).is_err());
        assert_eq!(kept.len(), 100);
    }

    proptest! {
        #[test]
        fn i04_any_bytes_come_back(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..64),
                "\\PC{0,16}[\u{10FF70}-\u{10FFFF}]{0,8}".prop_map(String::into_bytes),
            ],
            cut in any::<prop::sample::Index>(),
        ) {
            let kept = buffer(&bytes[cut.index(bytes.len() + 1)..]);
            let text = serde_json::to_string(&kept).unwrap();
            prop_assert_eq!(serde_json::from_str::<Buffer>(&text).unwrap(), kept);
        }
    }
}
