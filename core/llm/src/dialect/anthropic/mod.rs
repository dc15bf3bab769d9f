//! Anthropic's Messages.
//!
//! Source: <https://platform.claude.com/docs/en/api/messages>, and for the stream
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>.
//!
//! The mapping of a stream to events:
//! - text blocks are the text of one assistant message, until reasoning or a call comes between;
//! - a thinking block is a reasoning message, its signature that message's encrypted value. A redacted one has no text;
//! - a `tool_use` block is a call. The caller, if it is not the model itself, is the call's encrypted value;
//! - a tool that the provider runs itself (`server_tool_use`, `mcp_tool_use`, and their results) is not a call. The app
//!   gets a `CUSTOM` event named `server_tool_use` (the block, its input complete) or `server_tool_result` (the block).
//!   The blocks are in the encrypted value of their message, so that the turn can be sent back unchanged. Text after
//!   them begins a new message if there was text before them;
//! - blocks that mark a change by the provider to the conversation (`compaction`, `fallback`, `container_upload`,
//!   `mcp_tool_listing`) are kept the same way, each with a `CUSTOM` event of its type;
//! - if a model declines and another takes over (`fallback`), the calls before are answered here, since the first model
//!   may have been stopped within them. They are not sent back, nor is the thinking before:
//!   <https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback#continuing-the-conversation>;
//! - the container that the provider ran its tools in is kept with the last message, and the next requests name it
//!   until it expires: its tools refuse a request without it. The app's own `container` in `extra` takes precedence,
//!   and `null` there names none;
//! - a citation is a `CUSTOM` event named `citation`, and is sent back with its text;
//! - a refusal's explanation is a `CUSTOM` event named `refusal`;
//! - `RUN_FINISHED` carries the token usage, and the stop reason as `stopReason` in its metadata. Input tokens are as
//!   the provider counts them, without those read from or written to its cache;
//! - an error is a `RUN_ERROR`, and nothing after it is read;
//! - a stream that is cut off before the stop reason has no `RUN_FINISHED`.
//!
//! Blocks and events that this version does not know are skipped.

mod block;
mod blocks;
mod cache;
mod compaction;
mod content;
mod decode;
mod encode;
mod event;
mod layout;
mod messages;
mod thinking;
mod tools;
mod usage;

pub(super) use cache::{Mark, settle as settle_marks};
pub(super) use compaction::{holds_compaction, without_compaction};
pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
pub(super) use messages::goes_on;
pub(super) use thinking::{Thinking, version};
pub(super) use usage::{OF_COMPACTION, WRITTEN_FOR_AN_HOUR};

use serde::{Deserialize, Serialize};

/// The data of a thinking block in addition to its text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SealedThinking {
    /// The thinking's signature.
    Signature(String),
    /// The thinking itself, which only the provider can read.
    Redacted(String),
}

/// The data of a `tool_use` block in addition to the call.
#[derive(Debug, Serialize, Deserialize)]
struct SealedCall {
    /// The caller, if it is not the model itself: code that the provider runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller: Option<serde_json::Value>,
    /// Whether its model declined and another took over: then it is not sent back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    declined: bool,
}
