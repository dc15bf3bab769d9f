//! The mock provider over real HTTP, with reqwest as the client, asserted on the bytes.

// clippy.toml allows it in `#[test]` functions; here the helpers are tests as well.
#![allow(clippy::unwrap_used)]

mod ag_ui;
mod anthropic;
mod client;
mod failures;
mod gemini;
mod ollama;
mod open_ai_chat;
mod open_ai_responses;
mod others;
mod program;
mod requests;
mod scenes;
mod scripts;
mod wire;
