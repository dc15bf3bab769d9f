//! The streams that the benchmarks decode, and three ways of doing it.
#![allow(dead_code, reason = "each benchmark uses its part")]

pub(crate) mod cohere;
pub(crate) mod floor;
pub(crate) mod gemini;
pub(crate) mod harness;
pub(crate) mod mistral;
pub(crate) mod ollama;
pub(crate) mod peer;
pub(crate) mod responses;
pub(crate) mod stepwell;
pub(crate) mod workload;

use std::time::Duration;

/// The result of a decoding: its duration, and the bytes of text (thinking included) and of tool arguments that it
/// collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) time: Duration,
    pub(crate) text: usize,
    pub(crate) args: usize,
}

/// The wire format of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    OpenAiChat,
    Anthropic,
    OpenAiResponses,
    AgUi,
    Cohere,
    Mistral,
    Gemini,
    Ollama,
}
