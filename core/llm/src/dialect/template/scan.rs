use super::text::RawText;
use crate::words::{HIGH, stops};

/// A place in a frame.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Steps over these bytes.
    #[inline]
    pub(super) fn piece(&mut self, piece: &[u8]) -> Option<()> {
        if !self.rest().starts_with(piece) {
            return None;
        }
        self.at += piece.len();
        Some(())
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// A number, by JSON's grammar: how it is written.
    pub(super) fn number(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        if self.next_is(|byte| byte == b'-') {
            self.at += 1;
        }
        if self.next_is(|byte| byte == b'0') {
            self.at += 1;
            if self.next_is(|byte| byte.is_ascii_digit()) {
                return None;
            }
        } else {
            self.digits()?;
        }
        if self.next_is(|byte| byte == b'.') {
            self.at += 1;
            self.digits()?;
        }
        if self.next_is(|byte| matches!(byte, b'e' | b'E')) {
            self.at += 1;
            if self.next_is(|byte| matches!(byte, b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.bytes.get(start..self.at)
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self.rest();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
        let count = digits.count();
        self.at += count;
        (count > 0).then_some(())
    }

    fn next_is(&self, test: impl Fn(u8) -> bool) -> bool {
        self.bytes.get(self.at).is_some_and(|&byte| test(byte))
    }

    /// The rest of a string whose opening quote is passed.
    #[inline]
    pub(super) fn string(&mut self) -> Option<RawText<'a>> {
        let start = self.at;
        let mut escaped = false;
        let mut high = 0_u64;
        loop {
            while let Some(chunk) = self.rest().first_chunk::<8>() {
                let word = u64::from_le_bytes(*chunk);
                let stops = stops(word);
                if stops != 0 {
                    let before = stops.trailing_zeros() / 8;
                    // The bytes in front of the stop; `before` is at most 7.
                    high |= word & HIGH & ((1_u64 << (before * 8)) - 1);
                    self.at += before as usize;
                    break;
                }
                high |= word & HIGH;
                self.at += 8;
            }
            match *self.bytes.get(self.at)? {
                b'"' => {
                    let bytes = self.bytes.get(start..self.at)?;
                    self.at += 1;
                    return Some(RawText {
                        bytes,
                        escaped,
                        ascii: high == 0,
                    });
                }
                b'\\' => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                0..0x20 => return None,
                // Only within the last seven bytes of the frame.
                byte => {
                    high |= u64::from(byte) & 0x80;
                    self.at += 1;
                }
            }
        }
    }

    /// Passes over what follows a backslash.
    fn escape(&mut self) -> Option<()> {
        match self.rest() {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 1,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|hex| hex.is_ascii_hexdigit()) => {
                self.at += 5;
            }
            _ => return None,
        }
        Some(())
    }
}
