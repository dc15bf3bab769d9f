use super::Miss;
use std::str;

/// A string as it stands between its quotes: its escapes are of the right form, but still there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawText<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) escaped: bool,
    pub(super) ascii: bool,
}

impl<'a> RawText<'a> {
    /// Whether nothing stands between the quotes.
    pub(crate) fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether it holds an escape.
    pub(crate) fn is_escaped(self) -> bool {
        self.escaped
    }

    /// Whether the text is `other`, where that can be said without unescaping; `None` where it holds an escape.
    pub(crate) fn is(self, other: &str) -> Option<bool> {
        (!self.escaped).then(|| self.bytes == other.as_bytes())
    }

    /// The text. It borrows the frame, or `scratch`, which is used for what holds escapes, and grows as needed.
    ///
    /// # Errors
    /// An escape names half of a surrogate pair.
    #[inline]
    pub(crate) fn unescape<'s>(self, scratch: &'s mut String) -> Result<&'s str, Miss>
    where
        'a: 's,
    {
        let text = str::from_utf8(self.bytes).map_err(|_| Miss)?;
        if !self.escaped {
            return Ok(text);
        }
        scratch.clear();
        let mut rest = text;
        while let Some(at) = backslash(rest.as_bytes()) {
            scratch.push_str(&rest[..at]);
            let named = *rest.as_bytes().get(at + 1).ok_or(Miss)?;
            rest = rest.get(at + 2..).ok_or(Miss)?;
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
        Ok(scratch)
    }

    #[inline]
    pub(super) fn check_utf8(self) -> Result<(), Miss> {
        if self.ascii || str::from_utf8(self.bytes).is_ok() {
            Ok(())
        } else {
            Err(Miss)
        }
    }
}

/// Where the first backslash is. Eight bytes at a time: the pieces of a stream are short, so a call to a library's search
/// costs more than this.
#[inline]
fn backslash(bytes: &[u8]) -> Option<usize> {
    let (words, last) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = super::zeros(u64::from_le_bytes(*word) ^ (super::ONES * 0x5c)) & super::HIGH;
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = last.iter().position(|byte| *byte == b'\\')?;
    Some(words.len() * 8 + at)
}

/// The character that `\u`, just passed, names: one code unit, or a pair of surrogates.
fn unicode(rest: &mut &str) -> Result<char, Miss> {
    let first = code_unit(rest)?;
    let second = if (0xd800..0xdc00).contains(&first) {
        *rest = rest.strip_prefix("\\u").ok_or(Miss)?;
        Some(code_unit(rest)?)
    } else {
        None
    };
    char::decode_utf16([first].into_iter().chain(second))
        .next()
        .and_then(Result::ok)
        .ok_or(Miss)
}

fn code_unit(rest: &mut &str) -> Result<u16, Miss> {
    let (digits, after) = rest.split_at_checked(4).ok_or(Miss)?;
    *rest = after;
    digits.bytes().try_fold(0, |unit, byte| {
        let digit = char::from(byte).to_digit(16).ok_or(Miss)?;
        Ok((unit << 4) | u16::try_from(digit).map_err(|_| Miss)?)
    })
}
