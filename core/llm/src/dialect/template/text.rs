use crate::words::{HIGH, ONES, zeros};
use std::str;

/// A string between its quotes: its escapes have the right form, but are not decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawText<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) escaped: bool,
    pub(super) ascii: bool,
}

impl<'a> RawText<'a> {
    /// Returns whether the string is empty.
    pub(super) fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The text. It borrows the frame, or `scratch`, which is used for what holds escapes, and grows as needed.
    /// `None` where an escape names half of a surrogate pair, or where it is not UTF-8.
    #[inline]
    pub(super) fn unescape<'s>(self, scratch: &'s mut String) -> Option<&'s str>
    where
        'a: 's,
    {
        let text = str::from_utf8(self.bytes).ok()?;
        if !self.escaped {
            return Some(text);
        }
        scratch.clear();
        let mut rest = text;
        while let Some(at) = backslash(rest.as_bytes()) {
            scratch.push_str(&rest[..at]);
            let named = *rest.as_bytes().get(at + 1)?;
            rest = rest.get(at + 2..)?;
            scratch.push(match named {
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => unicode(&mut rest)?,
                itself => itself.into(),
            });
        }
        scratch.push_str(rest);
        Some(scratch)
    }

    #[inline]
    pub(super) fn check_utf8(self) -> Option<()> {
        (self.ascii || str::from_utf8(self.bytes).is_ok()).then_some(())
    }
}

/// Returns the index of the first backslash. It reads eight bytes at a time: the texts of a stream are short, so a call
/// to a library's search costs more.
#[inline]
fn backslash(bytes: &[u8]) -> Option<usize> {
    let (words, last) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = zeros(u64::from_le_bytes(*word) ^ (ONES * 0x5c)) & HIGH;
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = last.iter().position(|byte| *byte == b'\\')?;
    Some(words.len() * 8 + at)
}

/// The character that `\u`, just passed, names: one code unit, or a pair of surrogates.
fn unicode(rest: &mut &str) -> Option<char> {
    let first = code_unit(rest)?;
    let second = if (0xd800..0xdc00).contains(&first) {
        *rest = rest.strip_prefix("\\u")?;
        Some(code_unit(rest)?)
    } else {
        None
    };
    char::decode_utf16([first].into_iter().chain(second))
        .next()
        .and_then(Result::ok)
}

fn code_unit(rest: &mut &str) -> Option<u16> {
    let (digits, after) = rest.split_at_checked(4)?;
    *rest = after;
    digits.bytes().try_fold(0, |unit, byte| {
        let digit = char::from(byte).to_digit(16)?;
        Some((unit << 4) | u16::try_from(digit).ok()?)
    })
}
