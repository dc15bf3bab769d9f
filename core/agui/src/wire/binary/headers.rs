use super::MessageFault;

/// The maximum number of headers of a message. The services of AWS send fewer than ten.
const MAX_HEADERS: usize = 256;

/// The headers of a message that say what it is. A header that is missing, or no string, is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Headers<'a> {
    pub(super) message_type: &'a [u8],
    pub(super) event_type: &'a [u8],
    pub(super) exception_type: &'a [u8],
    pub(super) error_code: &'a [u8],
    pub(super) error_message: &'a [u8],
}

impl<'a> Headers<'a> {
    /// Reads all headers, and keeps the known ones.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, MessageFault> {
        let mut headers = Self::default();
        let mut rest = bytes;
        for _ in 0..MAX_HEADERS {
            if rest.is_empty() {
                return Ok(headers);
            }
            let (name, value, after) = header(rest).ok_or(MessageFault::Header)?;
            rest = after;
            let known = match name {
                b":message-type" => &mut headers.message_type,
                b":event-type" => &mut headers.event_type,
                b":exception-type" => &mut headers.exception_type,
                b":error-code" => &mut headers.error_code,
                b":error-message" => &mut headers.error_message,
                _ => continue,
            };
            *known = value;
        }
        match rest {
            [] => Ok(headers),
            _ => Err(MessageFault::TooManyHeaders { limit: MAX_HEADERS }),
        }
    }
}

/// Returns the name of the first header, its value if it is a string, and the bytes after it.
fn header(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(length))?;
    if name.is_empty() {
        return None;
    }
    let (&kind, rest) = rest.split_first()?;
    let (length, rest) = match kind {
        // True and false.
        0 | 1 => (0, rest),
        // Integers of one, two, four and eight bytes.
        2 => (1, rest),
        3 => (2, rest),
        4 => (4, rest),
        // Bytes and strings, with their length.
        6 | 7 => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        // An integer, and a time.
        5 | 8 => (8, rest),
        // A UUID.
        9 => (16, rest),
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((name, if kind == 7 { value } else { &[] }, rest))
}
