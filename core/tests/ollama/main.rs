//! Ollama's own dialect, through its public face: text, calls, errors, cutting, snapshots, requests.

#[path = "../support/decoding.rs"]
mod decoding;

mod agreement;
mod invariants;
mod request;
mod stream;
mod support;
