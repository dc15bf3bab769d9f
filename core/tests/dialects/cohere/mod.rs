//! Cohere's dialect, through its public API: quirks of the wire, cutting, snapshots, requests.

mod frames;
mod invariants;
mod request;
mod stream;
