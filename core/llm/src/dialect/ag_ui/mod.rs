//! AG-UI itself: the decoder has nothing to translate between vocabularies, and much to see to.
//!
//! The way of an event: [`compatibility`] (from before 1.0), [`enforcement`] (unknown things), the model (malformed
//! things), [`chunks`]. A plain delta takes the short way, [`delta`].
//!
//! Source: AG-UI 1.0, <https://docs.ag-ui.com>.

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
