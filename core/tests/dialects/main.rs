//! The dialects, through their public API: framing, decoding, requests, errors, histories, and what providers have sent.

#[path = "../support/cases.rs"]
mod cases;
mod chat;
mod decoding;
mod encode;
mod responses;
#[path = "../support/stream.rs"]
mod stream;

mod anthropic;
mod bedrock_converse;
mod cache;
mod clouds;
mod cohere;
mod errors;
mod failures;
mod fuzz;
mod gemini;
mod gemini_interactions;
mod hops;
mod invariants;
mod legal;
mod media;
mod mistral;
mod ollama;
mod openai_chat;
mod openai_responses;
mod own_tools;
mod reading;
mod recorded;
mod schemas;
mod templates;
#[path = "../support/thorough.rs"]
mod thorough;
mod validate;
mod wire;

/// The name of a dialect for the crate that writes what providers send.
fn mock(dialect: stepwell_core::dialect::Dialect) -> stepwell_mock_llm::Dialect {
    stepwell_mock_llm::Dialect::from_name(dialect.name()).expect("it has them all")
}
