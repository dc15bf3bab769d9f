use super::super::{Frame, WireError};
use super::MessageFault;
use super::headers::Headers;

/// The number of bytes of both lengths and their checksum.
pub(super) const PRELUDE: usize = 12;

/// The number of bytes of a checksum.
const CHECKSUM: usize = 4;

/// The maximum size of the headers, as the format has it.
const MAX_HEADER_BYTES: u32 = 128 * 1024;

/// The lengths of a message, checked.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// The length of the complete message.
    pub(super) total: usize,
    /// The length of the headers, which fit into the message.
    headers: usize,
}

impl Lengths {
    /// Reads and checks the lengths of a message that may have up to `limit` bytes.
    pub(super) fn read(prelude: [u8; PRELUDE], limit: usize) -> Result<Self, WireError> {
        let [a, b, c, d, e, f, g, h, checksum @ ..] = prelude;
        let lengths = [a, b, c, d, e, f, g, h];
        if crc32fast::hash(&lengths) != u32::from_be_bytes(checksum) {
            let fault = MessageFault::LengthChecksum;
            return Err(WireError::BadMessage { fault });
        }
        let total = u32::from_be_bytes([a, b, c, d]);
        let headers = u32::from_be_bytes([e, f, g, h]);
        if headers > MAX_HEADER_BYTES {
            let fault = MessageFault::HeadersTooLarge {
                length: headers,
                limit: MAX_HEADER_BYTES,
            };
            return Err(WireError::BadMessage { fault });
        }
        let too_large = WireError::FrameTooLarge {
            length: total,
            limit,
        };
        let (Ok(whole), Ok(head)) = (usize::try_from(total), usize::try_from(headers)) else {
            return Err(too_large);
        };
        if whole < PRELUDE + head + CHECKSUM {
            let fault = MessageFault::Lengths { total, headers };
            return Err(WireError::BadMessage { fault });
        }
        if whole > limit {
            return Err(too_large);
        }
        Ok(Self {
            total: whole,
            headers: head,
        })
    }
}

/// A complete message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    headers: Headers<'a>,
    payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads a message of these lengths.
    pub(super) fn read(bytes: &'a [u8], lengths: Lengths) -> Result<Self, MessageFault> {
        let (content, checksum) = bytes
            .split_last_chunk::<CHECKSUM>()
            .ok_or(MessageFault::Checksum)?;
        if crc32fast::hash(content) != u32::from_be_bytes(*checksum) {
            return Err(MessageFault::Checksum);
        }
        let after = content.get(PRELUDE..).unwrap_or_default();
        let (headers, payload) = after
            .split_at_checked(lengths.headers)
            .ok_or(MessageFault::Header)?;
        let headers = Headers::read(headers)?;
        Ok(Self { headers, payload })
    }

    /// Returns the message as a frame.
    pub(super) fn frame(&self) -> Frame<'a> {
        let Headers {
            message_type,
            event_type,
            exception_type,
            error_code,
            error_message,
        } = self.headers;
        let (event, data, is_failure) = match message_type {
            b"exception" => (exception_type, self.payload, true),
            b"error" => (error_code, error_message, true),
            _ => (event_type, self.payload, false),
        };
        Frame {
            event,
            data,
            is_failure,
            ..Frame::default()
        }
    }
}
