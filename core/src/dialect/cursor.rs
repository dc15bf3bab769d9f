//! A strict JSON cursor over one frame: what reads the deltas, the one hot thing of a stream.
//!
//! It borrows everything, allocates nothing and knows no type but what it is asked for. It takes the shapes that a
//! decoder knows; anything else is a [`Miss`], and then the decoder's serde view alone decides what the frame means.
//! So a `Miss` is never an error by itself, but what the cursor takes must be what serde takes:
//!
//! - a frame that is read and [skipped](Cursor::skip) to its [`end`](Cursor::end) is valid JSON by serde_json's rules:
//!   number grammar, literals, escapes, control characters, brackets, nothing after the value but white space. As in
//!   serde_json, a skipped string may hold a lone surrogate (`"\ud800"`), and one that is handed on may not;
//! - every string, skipped or not, is UTF-8. serde_json checks the strings it skips only in `from_str`, so that is
//!   what a serde view has to be read with to agree;
//! - values are nested at most [`DEPTH`] deep, serde_json's limit for a value that it builds (it has none for what it
//!   skips);
//! - an object's key that holds an escape is a `Miss`, so that keys compare as raw bytes. A key that comes twice is
//!   for the caller to see: [`Seen`] does.
//!
//! Most frames are not even walked: they are like one that was ([`Templates`]).

mod template;
mod text;

pub(crate) use template::{Changing, Plain, Templates};
pub(crate) use text::RawText;

/// The deepest nesting that is read.
const DEPTH: u32 = 127;

/// The frame is not of the shape that was asked for, or not JSON at all: read it with serde.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Miss;

/// A place in the text of a frame, in front of a value.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

/// Which keys of an object have come: one bit a key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen(u32);

impl Seen {
    /// Takes note of the key that the caller counts as `bit` (under 32).
    ///
    /// # Errors
    /// It comes for the second time.
    pub(crate) fn once(&mut self, bit: u32) -> Result<(), Miss> {
        let mask = 1 << bit;
        if self.0 & mask != 0 {
            return Err(Miss);
        }
        self.0 |= mask;
        Ok(())
    }
}

impl<'a> Cursor<'a> {
    /// A cursor in front of the frame's one value.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            depth: 0,
        }
    }

    /// The first byte of the next value: what kind it is, if it is one at all.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Miss> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(&byte) => return Ok(byte),
                None => return Err(Miss),
            }
        }
    }

    /// Walks an object. `field` gets each key and must take the value: read or skip it.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Miss>,
    ) -> Result<(), Miss> {
        self.enter(b'{')?;
        if self.peek()? == b'}' {
            return self.leave();
        }
        loop {
            let key = self.text()?;
            if key.escaped {
                return Err(Miss);
            }
            self.expect(b':')?;
            field(self, key.bytes)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => return self.leave(),
                _ => return Err(Miss),
            }
        }
    }

    /// Walks an array. `item` must take each value: read or skip it.
    #[inline]
    pub(crate) fn array(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), Miss>,
    ) -> Result<(), Miss> {
        self.enter(b'[')?;
        if self.peek()? == b']' {
            return self.leave();
        }
        loop {
            item(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => return self.leave(),
                _ => return Err(Miss),
            }
        }
    }

    /// A string.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<RawText<'a>, Miss> {
        self.expect(b'"')?;
        let text = self.string_body()?;
        text.check_utf8()?;
        Ok(text)
    }

    /// A string, or `None` for `null`.
    #[inline]
    pub(crate) fn text_or_null(&mut self) -> Result<Option<RawText<'a>>, Miss> {
        if self.peek()? == b'n' {
            return self.null().map(|()| None);
        }
        self.text().map(Some)
    }

    /// `null`.
    pub(crate) fn null(&mut self) -> Result<(), Miss> {
        self.peek()?;
        self.literal(b"null")
    }

    /// A number that is a plain run of digits.
    pub(crate) fn count(&mut self) -> Result<u64, Miss> {
        self.peek()?;
        let start = self.at;
        self.number()?;
        let digits = self.bytes.get(start..self.at).ok_or(Miss)?;
        digits.iter().try_fold(0_u64, |count, digit| {
            if !digit.is_ascii_digit() {
                return Err(Miss);
            }
            count
                .checked_mul(10)
                .and_then(|count| count.checked_add(u64::from(digit - b'0')))
                .ok_or(Miss)
        })
    }

    /// Passes over one value of any kind.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<(), Miss> {
        match self.peek()? {
            b'"' => {
                self.at += 1;
                self.string_body()?.check_utf8()
            }
            b'{' | b'[' => self.skip_nested(),
            _ => self.scalar(),
        }
    }

    /// The frame's value was read: nothing but white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Miss> {
        match self.peek() {
            Err(Miss) => Ok(()),
            Ok(_) => Err(Miss),
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Miss> {
        if self.peek()? != byte {
            return Err(Miss);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn enter(&mut self, bracket: u8) -> Result<(), Miss> {
        self.expect(bracket)?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Miss);
        }
        Ok(())
    }

    /// Steps over the closing bracket that was just peeked at.
    #[inline]
    fn leave(&mut self) -> Result<(), Miss> {
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    /// Passes over an object or array, without recursion: one bit a level says which of them it is.
    fn skip_nested(&mut self) -> Result<(), Miss> {
        let outside = self.depth;
        let mut objects = 0_u128;
        loop {
            // In front of a value.
            match self.peek()? {
                open @ (b'{' | b'[') => {
                    self.enter(open)?;
                    let object = open == b'{';
                    objects = (objects << 1) | u128::from(object);
                    let close = if object { b'}' } else { b']' };
                    if self.peek()? != close {
                        if object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                    objects >>= 1;
                    self.leave()?;
                }
                b'"' => {
                    self.at += 1;
                    self.string_body()?.check_utf8()?;
                }
                _ => self.scalar()?,
            }
            // Behind a value.
            loop {
                if self.depth == outside {
                    return Ok(());
                }
                let object = objects & 1 == 1;
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        if object {
                            self.skip_key()?;
                        }
                        break;
                    }
                    b'}' if object => {}
                    b']' if !object => {}
                    _ => return Err(Miss),
                }
                objects >>= 1;
                self.leave()?;
            }
        }
    }

    fn skip_key(&mut self) -> Result<(), Miss> {
        self.text()?;
        self.expect(b':')
    }

    fn scalar(&mut self) -> Result<(), Miss> {
        match self.peek()? {
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => self.number(),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), Miss> {
        if !self.rest().starts_with(word) {
            return Err(Miss);
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), Miss> {
        if self.next_is(|byte| byte == b'-') {
            self.at += 1;
        }
        if self.next_is(|byte| byte == b'0') {
            self.at += 1;
            if self.next_is(|byte| byte.is_ascii_digit()) {
                return Err(Miss);
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
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Miss> {
        let rest = self.rest();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
        let count = digits.count();
        self.at += count;
        if count == 0 { Err(Miss) } else { Ok(()) }
    }

    fn next_is(&self, test: impl Fn(u8) -> bool) -> bool {
        self.bytes.get(self.at).is_some_and(|&byte| test(byte))
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The rest of a string whose opening quote is passed.
    #[inline]
    fn string_body(&mut self) -> Result<RawText<'a>, Miss> {
        let start = self.at;
        let mut escaped = false;
        let mut high = 0_u64;
        loop {
            // Eight bytes at a time: provider strings are short, so a call to a library's search costs more than this.
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
            let Some(&byte) = self.bytes.get(self.at) else {
                return Err(Miss);
            };
            match byte {
                b'"' => {
                    let bytes = self.bytes.get(start..self.at).ok_or(Miss)?;
                    self.at += 1;
                    return Ok(RawText {
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
                0..0x20 => return Err(Miss),
                // Only within the last seven bytes of the frame.
                _ => {
                    high |= u64::from(byte) & 0x80;
                    self.at += 1;
                }
            }
        }
    }

    /// Passes over what follows a backslash.
    fn escape(&mut self) -> Result<(), Miss> {
        match self.rest() {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 1,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|hex| hex.is_ascii_hexdigit()) => {
                self.at += 5;
            }
            _ => return Err(Miss),
        }
        Ok(())
    }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// The top bit of the first byte that ends the plain run: a quote, a backslash or a control character. Bits above the
/// lowest one mean nothing.
#[inline]
fn stops(word: u64) -> u64 {
    let quote = zeros(word ^ (ONES * 0x22));
    let backslash = zeros(word ^ (ONES * 0x5c));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

/// The top bit of the first byte that is zero, where it is masked by [`HIGH`]. Bits above that one mean nothing.
#[inline]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[cfg(test)]
mod tests;
