//! How the events of a turn are sent.

mod encoding;
pub(crate) mod event_log;
pub(crate) mod format;
mod frames;

pub use encoding::{Encoding, LAST_EVENT_ID};
pub use event_log::{Entry, EventStream};
pub use format::Format;
