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
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (plain, escape) = rest.split_at(at);
            scratch.push_str(plain);
            let mut chars = escape.chars();
            chars.next();
            scratch.push(match chars.next().ok_or(Miss)? {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => unicode(&mut chars)?,
                itself => itself,
            });
            rest = chars.as_str();
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

/// The character that `\u`, just passed, names: one code unit, or a pair of surrogates.
fn unicode(chars: &mut str::Chars<'_>) -> Result<char, Miss> {
    let first = code_unit(chars)?;
    let second = if (0xd800..0xdc00).contains(&first) {
        if chars.next() != Some('\\') || chars.next() != Some('u') {
            return Err(Miss);
        }
        Some(code_unit(chars)?)
    } else {
        None
    };
    char::decode_utf16([first].into_iter().chain(second))
        .next()
        .and_then(Result::ok)
        .ok_or(Miss)
}

fn code_unit(chars: &mut str::Chars<'_>) -> Result<u16, Miss> {
    (0..4).try_fold(0, |unit, _| {
        let digit = chars.next().and_then(|c| c.to_digit(16)).ok_or(Miss)?;
        Ok((unit << 4) | u16::try_from(digit).map_err(|_| Miss)?)
    })
}
