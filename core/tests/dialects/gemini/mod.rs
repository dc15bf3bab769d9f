//! The Gemini dialect, through its public API: parts, calls, signatures, errors, cutting, snapshots, requests.

// A test is read best where it takes its `json!` as it is written.
#![allow(clippy::needless_pass_by_value)]

mod calls;
mod errors;
mod history;
mod request;
mod round_trip;
mod signatures;
mod stream;
pub(crate) mod support;
