//! The server of AG-UI runs as a library: what its runs ask the user.

#[path = "../../../io/tests/support/mod.rs"]
mod support;
mod tool_questions;
mod trust;
