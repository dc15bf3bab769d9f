//! Bytes to frames: cuts the body of a response into the texts a dialect decodes.
//!
//! A framer is fed the chunks of a body as they come, cut anywhere, and hands each [`Frame`] to a closure.
//! It does no IO and keeps no borrow of a chunk, so between two calls it is plain data: serialise it at any byte,
//! and what it was in the middle of goes on after deserialising.
//!
//! - [`SseFramer`] for `text/event-stream`
//! - [`JsonLinesFramer`] for one JSON text a line (`application/x-ndjson`, `application/jsonl`)
//! - [`LengthPrefixedFramer`] for binary frames with their length before them (`application/vnd.ag-ui.event+proto`)
//! - [`Framer`] for any of them
//!
//! What comes out depends on the bytes alone, not on where they were cut. A frame's bytes are handed on as they came:
//! whether they are UTF-8 is for the decoder to check.
//!
//! # How much is held
//!
//! A frame that lies in one chunk is handed out without being copied. What a chunk's end cuts is copied and only ever
//! appended to, and no byte is searched twice, so that the work grows with the bytes received, however small the chunks.
//! [`FrameLimits`] bound what is held; beyond them there is a [`WireError`], never more memory.
//!
//! # Errors
//!
//! After the first error a framer stays in it: each further call returns that error again. The frames before the error
//! have been handed out. An error that the closure returns is passed on as it is; since the rest of that chunk is then
//! lost, further calls return [`WireError::Stopped`].

mod buffer;
mod error;
mod field;
mod frame;
mod framer;
mod json_lines;
mod length_prefixed;
mod sse;
mod start;
mod text;

pub use error::WireError;
pub use frame::{Frame, FrameLimits};
pub use framer::Framer;
pub use json_lines::JsonLinesFramer;
pub use length_prefixed::LengthPrefixedFramer;
pub use sse::SseFramer;

// Helpers that Stepwell's other crates share. They are hidden because they may change in any release.
#[doc(hidden)]
pub use text::{as_text, to_text};
