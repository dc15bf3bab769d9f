//! What the pieces of a text add up to, without the text: enough to hold it against the whole that a provider sends in
//! the end.

use super::halves;
use serde::{Deserialize, Serialize};

/// A text that came in pieces, by its length in bytes and a digest that does not hang on where it was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextDigest {
    bytes: usize,
    digest: u64,
    /// Whether a piece ended within a character, so that the pieces are not what the whole will be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

/// What a whole text is to what its pieces said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole<'a> {
    /// The same.
    Same,
    /// It begins with what was said, and goes on with this.
    Longer(&'a str),
    /// Another text.
    Other,
}

/// Odd, so that no digit is lost by multiplying. The digest is read back by the machine that made it or by another of
/// its kind, and holds against chance, not against a provider that deceives itself.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Its powers, for the bytes of a word at once.
const POWERS: [u64; 8] = {
    let mut powers = [1_u64; 8];
    let mut at = 7;
    while at > 0 {
        powers[at - 1] = powers[at].wrapping_mul(FACTOR);
        at -= 1;
    }
    powers
};

impl TextDigest {
    /// Returns whether nothing was said.
    pub(super) fn is_nothing(self) -> bool {
        self.bytes == 0
    }

    /// Takes note of a piece.
    #[inline]
    pub(super) fn add(&mut self, piece: &str) {
        self.is_cut |= halves::are_in(piece);
        self.bytes += piece.len();
        let mut words = piece.as_bytes().chunks_exact(8);
        for word in words.by_ref() {
            let terms = word.iter().zip(POWERS);
            let sum = terms.fold(0_u64, |sum, (byte, power)| {
                sum.wrapping_add((u64::from(*byte) + 1).wrapping_mul(power))
            });
            let moved = self.digest.wrapping_mul(POWERS[0].wrapping_mul(FACTOR));
            self.digest = moved.wrapping_add(sum);
        }
        for byte in words.remainder() {
            self.digest = self
                .digest
                .wrapping_mul(FACTOR)
                .wrapping_add(u64::from(*byte) + 1);
        }
    }

    /// Holds a whole text against what was said.
    pub(super) fn against(self, whole: &str) -> Whole<'_> {
        if self.is_cut {
            return Whole::Same;
        }
        let Some((start, rest)) = whole.split_at_checked(self.bytes) else {
            return Whole::Other;
        };
        let mut same = Self::default();
        same.add(start);
        match same == self {
            false => Whole::Other,
            true if rest.is_empty() => Whole::Same,
            true => Whole::Longer(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[&str]) -> TextDigest {
        let mut said = TextDigest::default();
        for piece in pieces {
            said.add(piece);
        }
        said
    }

    #[test]
    fn where_a_text_was_cut_changes_nothing() {
        let text = "The quick brown fox, and more than a word of it: é, 日本語.";
        let whole = said(&[text]);
        for (at, _) in text.char_indices() {
            assert_eq!(said(&[&text[..at], "", &text[at..]]), whole, "{at}");
            assert_eq!(
                said(&[&text[..at]]).against(text),
                Whole::Longer(&text[at..])
            );
        }
        assert_eq!(whole.against(text), Whole::Same);
    }

    #[test]
    fn another_text_is_told() {
        let known = said(&["{\"a\":1}"]);
        for other in [
            "{\"a\":2}",
            "{\"a\":1",
            "",
            "{\"a\":2}, and more",
            "é{\"a\":1}",
        ] {
            assert_eq!(known.against(other), Whole::Other, "{other}");
        }
        assert_eq!(said(&[]).against(""), Whole::Same);
        assert_eq!(said(&["\0"]).against("\0\0"), Whole::Longer("\0"));
        assert_ne!(said(&["\0"]), said(&["\0\0"]));
    }
}
