//! The mock provider over real HTTP, with reqwest as the client, asserted on the bytes.

// clippy.toml allows it in `#[test]` functions; here the helpers are tests as well.
#![allow(clippy::unwrap_used)]

mod answers;
mod background;
mod client;
mod dialects;
mod failures;
mod interactions;
mod program;
mod requests;
mod scenes;
mod scripts;
mod wire;
