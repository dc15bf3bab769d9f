//! The Gemini dialect, through its public face: parts, calls, signatures, errors, cutting, snapshots, requests.

#[path = "../support/decoding.rs"]
mod decoding;

mod agreement;
mod calls;
mod errors;
mod history;
mod invariants;
mod request;
mod round_trip;
mod signatures;
mod stream;
mod support;
