//! How what a turn says goes over the wire.

mod encoding;
pub(crate) mod event_log;
pub(crate) mod format;
mod frames;

pub use encoding::{Encoding, LAST_EVENT_ID};
pub use event_log::{Entry, EventStream};
pub use format::Format;
