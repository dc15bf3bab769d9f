//! Mistral's chat: Chat Completions with requests of its own. Its streams are decoded as those are.
//!
//! Source: <https://docs.mistral.ai/api/endpoint/chat>.

mod encode;
mod messages;

pub(super) use encode::Encoder;
