//! Framing: cuts the bytes of a response body into frames, which a dialect decodes.
//!
//! A framer receives the chunks of a body, which may be cut anywhere, and passes each [`Frame`] to a closure. A framer
//! does no IO and keeps no borrow of a chunk, so between two calls it is plain data: it can be serialised after any
//! byte, and continues after it is deserialised.
//!
//! - [`SseFramer`] for `text/event-stream`
//! - [`JsonLinesFramer`] for one JSON text a line (`application/x-ndjson`, `application/jsonl`)
//! - [`LengthPrefixedFramer`] for binary frames with their length before them (`application/vnd.ag-ui.event+proto`)
//! - [`EventStreamFramer`] for the messages of AWS, with headers and checksums (`application/vnd.amazon.eventstream`)
//! - [`Framer`] for any of them
//!
//! The frames depend on the bytes alone, not on where the chunks were cut. A frame's bytes are passed on unchanged; the
//! decoder checks whether they are UTF-8.
//!
//! # How much is held
//!
//! A frame within one chunk is not copied. A frame that the end of a chunk cuts is copied and only appended to, and no
//! byte is searched twice, so the work is linear in the bytes received, however small the chunks are. [`FrameLimits`]
//! bound what is held; beyond them the framer returns a [`WireError`].
//!
//! # Errors
//!
//! After an error, each further call returns the same error. The frames before the error have been passed on. An error
//! of the closure is returned unchanged; the rest of that chunk is then lost, so further calls return
//! [`WireError::Stopped`].

mod binary;
mod buffer;
mod error;
mod field;
mod frame;
mod framer;
mod json_lines;
mod sse;
mod start;
mod text;

pub use binary::{BinaryFramer, EventStreamFramer, LengthPrefixedFramer, MessageFault};
pub use error::WireError;
pub use frame::{Frame, FrameLimits};
pub use framer::Framer;
pub use json_lines::JsonLinesFramer;
pub use sse::SseFramer;

// Helpers that Stepwell's other crates share. They are hidden because they may change in any release.
#[doc(hidden)]
pub use text::{as_text, to_text};
