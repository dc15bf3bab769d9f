//! The demo of the Stepwell program, and how the program shows a turn on a terminal.
//!
//! It is a crate of its own so that `cargo run` in a checkout builds no more than the demo needs; `stepwell` has it as
//! its command `demo`.
#![forbid(unsafe_code)]

mod demo;
mod failure;
mod follow;
mod provider;
pub mod secret_numbers;
pub mod terminal;

pub use demo::{Demo, QUESTION, agent};
pub use failure::{Failure, command_line_reason, one_line};
pub use follow::{Beside, follow, follow_with, problem};
pub use provider::{Format, add_providers, catalog};
