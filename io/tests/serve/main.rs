//! The server of AG-UI runs as a library: what its runs ask the user.

mod tool_questions;
mod trust;
