//! Language models as streams of AG-UI events, without IO: what to send ([`dialect`]), to whom ([`provider`]), and the
//! tools that the model may call ([`tool`]). Useful alone to who wants no loop; `stepwell-core` has the loop.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
// No clock, file, socket, thread or random number: clippy.toml has the list.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod dialect;
mod matrix;
pub mod provider;
pub mod tool;
mod words;

pub use stepwell_agui::{
    CallKey, MessageId, NotUsd, RunId, ThreadId, Timestamp, ToolCallId, Usd, event, wire,
};
