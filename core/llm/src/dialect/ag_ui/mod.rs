//! AG-UI itself. The decoder translates no vocabulary, but handles older versions, unknown content and chunks.
//!
//! An event passes through [`compatibility`] (versions before 1.0), [`enforcement`] (unknown content), the event model
//! (malformed content) and [`chunks`]. A plain delta takes a shorter path, [`delta`].
//!
//! Source: AG-UI 1.0, <https://docs.ag-ui.com>.

mod binary;
mod boundary;
mod chunks;
mod client_version;
mod compatibility;
mod decode;
mod delta;
mod encode;
mod enforcement;
mod fault;
mod fields;
mod on_interrupt;
mod repeated_calls;
mod run_input;
mod shapes;

pub use boundary::Boundary;
pub use client_version::ClientVersion;
pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
pub use on_interrupt::{ON_INTERRUPT, mark_answers};
pub use run_input::{RunInputError, read_run_input};
