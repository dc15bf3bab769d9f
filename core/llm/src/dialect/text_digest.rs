//! A digest of a text's deltas, to compare them with the complete text that a provider sends at the end.

use super::halves;
use serde::{Deserialize, Serialize};

/// The length in bytes and a digest of a text. The digest does not depend on where the text was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextDigest {
    bytes: usize,
    digest: u64,
    /// Whether a delta ended within a character, so that the deltas differ from the complete text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

/// The relation of a complete text to its deltas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole<'a> {
    /// The texts are equal.
    Same,
    /// The complete text begins with the deltas, and continues with this.
    Longer(&'a str),
    /// The texts differ.
    Other,
}

/// The factor is odd, so that multiplication loses no bits. The digest detects accidental differences; it is not meant
/// to resist an attacker.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The powers of the factor, for the bytes of a word at once.
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
    /// Returns whether the text is empty.
    pub(super) fn is_nothing(self) -> bool {
        self.bytes == 0
    }

    /// Adds a delta.
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

    /// Compares a complete text with the deltas.
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
