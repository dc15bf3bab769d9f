//! Stepwell core: the loop between a person, a language model and tools, as a state machine without IO.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
// No clock, file, socket, thread or random number: clippy.toml has the list.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod conversation;
pub mod dialect;
pub mod event;
mod hash;
mod id;
pub mod journal;
#[doc(hidden)]
pub mod json;
pub mod middleware;
pub mod pipeline;
pub mod provider;
pub mod registry;
pub mod run;
pub mod run_source;
pub mod session;
mod sorted;
mod sync;
mod time;
pub mod tool;
pub mod wire;

pub use id::*;
pub use time::Timestamp;
