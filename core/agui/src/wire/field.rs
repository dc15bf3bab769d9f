/// The longest name that an unknown field may have, in bytes.
const LONGEST_NAME: usize = 64;

/// A line of a block that is not blank, read as the fields of server-sent events.
pub(super) enum Field<'a> {
    Event(&'a [u8]),
    Data(&'a [u8]),
    Id(&'a [u8]),
    Retry(&'a [u8]),
    /// A comment, or a field that the format does not know.
    Unknown,
    /// Text that is not a field, or that reports an error.
    Stray(&'a [u8]),
}

impl<'a> Field<'a> {
    #[inline]
    pub(super) fn read(line: &'a [u8]) -> Self {
        // No search for the colon: an unknown field or a comment may be long.
        let (field, rest): (fn(&'a [u8]) -> Self, _) = match line {
            [b'd', b'a', b't', b'a', rest @ ..] => (Self::Data, rest),
            [b'e', b'v', b'e', b'n', b't', rest @ ..] => (Self::Event, rest),
            [b'i', b'd', rest @ ..] => (Self::Id, rest),
            [b'r', b'e', b't', b'r', b'y', rest @ ..] => (Self::Retry, rest),
            _ => return Self::unknown(line),
        };
        match rest {
            [] => field(&[]),
            [b':', b' ', value @ ..] | [b':', value @ ..] => field(value),
            _ => Self::unknown(line),
        }
    }

    /// Returns a line with none of the known fields. Only its beginning is read.
    fn unknown(line: &'a [u8]) -> Self {
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let start = &line[..line.len().min(LONGEST_NAME)];
        let name = start.iter().position(|byte| !is_of_name(byte));
        match name {
            // A comment.
            Some(0) if line[0] == b':' => Self::Unknown,
            Some(end) if end > 0 && line[end] == b':' && &line[..end] != b"error" => Self::Unknown,
            None => Self::Unknown,
            Some(_) => Self::Stray(line),
        }
    }
}

/// Reads the number of a `retry` field; `None` if it has anything but digits.
pub(super) fn milliseconds(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = value.iter().fold(0_u64, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    });
    Some(number)
}
