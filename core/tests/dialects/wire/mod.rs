//! The framers: hand-written cases of the format, and properties over random bodies and cuts.
// Helpers outside of the test functions unwrap too; `allow-unwrap-in-tests` does not reach them.
#![allow(clippy::unwrap_used)]

mod cuts;
pub(crate) mod event_stream;
mod eventsource_stream;
mod json_lines;
mod length_prefixed;
mod limits;
mod reference;
mod sse;
mod support;
