/// A line of a block that is not blank, read as the fields of server-sent events.
pub(super) enum Field<'a> {
    Event(&'a [u8]),
    Data(&'a [u8]),
    Id(&'a [u8]),
    Retry(&'a [u8]),
    Unknown,
}

impl<'a> Field<'a> {
    pub(super) fn read(line: &'a [u8]) -> Self {
        // No search for the colon: an unknown field or a comment may be long.
        let (field, rest): (fn(&'a [u8]) -> Self, _) = match line {
            [b'd', b'a', b't', b'a', rest @ ..] => (Self::Data, rest),
            [b'e', b'v', b'e', b'n', b't', rest @ ..] => (Self::Event, rest),
            [b'i', b'd', rest @ ..] => (Self::Id, rest),
            [b'r', b'e', b't', b'r', b'y', rest @ ..] => (Self::Retry, rest),
            _ => return Self::Unknown,
        };
        match rest {
            [] => field(&[]),
            [b':', b' ', value @ ..] | [b':', value @ ..] => field(value),
            _ => Self::Unknown,
        }
    }
}

/// The number a `retry` field gives; none if it is not made of digits only.
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
