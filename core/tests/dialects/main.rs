//! The dialects, through their public API: framing, decoding, requests, errors, histories, and what providers have sent.

mod chat;
mod decoding;
mod encode;
mod oracle;
mod recordings;
mod responses;
#[path = "../support/stream.rs"]
mod stream;

mod anthropic;
mod cohere;
mod errors;
mod failures;
mod fuzz;
mod gemini;
mod hops;
mod legal;
mod media;
mod mistral;
mod ollama;
mod openai_chat;
mod openai_responses;
mod own_tools;
mod reading;
mod recorded_anthropic;
mod recorded_chat;
mod recorded_cohere;
mod recorded_gemini;
mod recorded_ollama;
mod recorded_responses;
mod schemas;
mod templates;
mod validate;
mod wire;
