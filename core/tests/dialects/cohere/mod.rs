//! Cohere's dialect, through its public face: quirks of the wire, cutting, snapshots, requests.

mod agreement;
mod frames;
mod invariants;
mod request;
mod stream;
