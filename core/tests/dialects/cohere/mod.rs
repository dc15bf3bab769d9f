//! Cohere's dialect, through its public API: quirks of the wire, cutting, snapshots, requests.

pub(crate) mod frames;
mod request;
mod stream;
