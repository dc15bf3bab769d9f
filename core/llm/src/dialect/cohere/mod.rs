//! Cohere's chat, version 2.
//!
//! Source: <https://docs.cohere.com/v2/reference/chat-stream>, and <https://docs.cohere.com/v2/docs/streaming>.
//!
//! The mapping of a stream to events:
//! - text blocks are the assistant's message, thinking blocks are reasoning messages;
//! - the tool plan, the model's note to itself before it calls tools, is a reasoning message whose metadata has
//!   `toolPlan`: true. It is sent back as the `tool_plan` of the message with the calls;
//! - a citation is a `CUSTOM` event named `citation` with the provider's object;
//! - `RUN_FINISHED` carries the token usage (with the billed tokens as `billedInputTokens` and `billedOutputTokens`),
//!   and the provider's finish reason as `stopReason` in its metadata;
//! - an answer that ends with `ERROR` or `TIMEOUT` is a `RUN_ERROR`.

mod decode;
mod encode;
mod frame;
mod messages;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;

/// The key in a reasoning message's metadata that says that it is a tool plan.
const TOOL_PLAN: &str = "toolPlan";
