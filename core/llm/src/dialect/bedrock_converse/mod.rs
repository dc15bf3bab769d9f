//! Amazon Bedrock's Converse, `ConverseStream`.
//!
//! Source: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>, and the service
//! model `bedrock-runtime` of botocore.
//!
//! The body of the response is a stream of binary messages
//! ([`EventStreamFramer`](crate::wire::EventStreamFramer)). The mapping of a stream to events:
//! - text deltas are the text of one assistant message, until reasoning or a call comes between;
//! - a reasoning block is a reasoning message, its signature that message's encrypted value. A redacted one has no text.
//!   Reasoning without a signature is not sent back;
//! - a `toolUse` block is a call. One that Bedrock runs itself (`server_tool_use`) is not, and is passed over;
//! - a citation is a `CUSTOM` event named `citation` with the provider's object;
//! - `RUN_FINISHED` carries the token usage, and the stop reason as `stopReason` in its metadata. Input tokens are as
//!   the provider counts them, without those read from or written to its cache;
//! - an exception or an error in the stream is a `RUN_ERROR`, and so is an answer that ends with
//!   `malformed_model_output` or `malformed_tool_use`;
//! - a stream that is cut off before the stop reason has no `RUN_FINISHED`.
//!
//! Blocks and events that this version does not know are skipped.

mod block;
mod content;
mod decode;
mod encode;
mod event;
mod family;
mod marked;
mod prompt;
mod tools;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
pub(super) use family::takes_schema;
