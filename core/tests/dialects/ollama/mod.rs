//! Ollama's own dialect, through its public API: text, calls, errors, cutting, snapshots, requests.

// A test is read best where it takes its `json!` as it is written.
#![allow(clippy::needless_pass_by_value)]

mod request;
mod stream;
pub(crate) mod support;
