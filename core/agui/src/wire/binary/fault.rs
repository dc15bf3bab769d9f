use serde::{Deserialize, Serialize};

/// The reason why a message of an event stream is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum MessageFault {
    /// The checksum of the lengths is wrong, as it is if the body is no event stream.
    #[error("the checksum of its lengths is wrong")]
    LengthChecksum,
    /// The checksum of the message is wrong.
    #[error("its checksum is wrong")]
    Checksum,
    /// The lengths contradict each other.
    #[error("its length is {total} bytes, with {headers} bytes of headers")]
    Lengths {
        /// The length of the message, in bytes.
        total: u32,
        /// The length of its headers, in bytes.
        headers: u32,
    },
    /// The headers are too large.
    #[error("it has {length} bytes of headers, but {limit} are allowed")]
    HeadersTooLarge {
        /// The length of the headers, in bytes.
        length: u32,
        /// The limit, in bytes.
        limit: u32,
    },
    /// There are too many headers.
    #[error("it has more than {limit} headers")]
    TooManyHeaders {
        /// The limit.
        limit: usize,
    },
    /// A header is incomplete, has no name, or has a value of an unknown type.
    #[error("one of its headers is incomplete or of an unknown type")]
    Header,
}
