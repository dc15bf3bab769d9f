use super::MessageFault;
use serde::{Deserialize, Serialize};

/// The reason why no further frames can be read from a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum WireError {
    /// A line is longer than [`FrameLimits::line`](super::FrameLimits::line).
    #[error(
        "the response body has a line of more than {limit} bytes (raise the line limit if the server should send such lines)"
    )]
    LineTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The data of one event is longer than [`FrameLimits::event`](super::FrameLimits::event).
    #[error(
        "the response body has an event of more than {limit} bytes of data (raise the event limit if the server should send such events)"
    )]
    EventTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A frame says that it is longer than [`FrameLimits::event`](super::FrameLimits::event).
    #[error(
        "the response body has a frame of {length} bytes, but {limit} are allowed (raise the event limit if the server should send such frames, or check that the body matches its media type)"
    )]
    FrameTooLarge {
        /// The length that the frame's header gives, in bytes.
        length: u32,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A message of an event stream is invalid.
    #[error(
        "the response body has an invalid message: {fault} (check that the body matches its media type, and that nothing between here and the server changes it)"
    )]
    BadMessage {
        /// The reason.
        fault: MessageFault,
    },
    /// The receiver of the frames refused one in an earlier call, and the rest of that chunk is lost.
    #[error(
        "the response body is closed: one of its frames was refused (start a new framer for a new body)"
    )]
    Stopped,
}
