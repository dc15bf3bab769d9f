//! The AG-UI 1.0 event model: the one vocabulary inside Stepwell.
//!
//! [`Event`] is the owned, complete form: all 31 events of the protocol, with unknown events and unknown fields kept.
//! [`EventRef`] is what a decoder pushes: the three kinds of delta borrow the bytes they came from, everything else
//! refers to an [`Event`]. [`Order`] checks that events come in an order that the protocol allows,
//! and [`Verifier`] says what becomes of those that do not.
//!
//! Source: AG-UI 1.0, <https://docs.ag-ui.com>, and its JSON Schema.
//!
//! ```
//! use stepwell_core::event::Event;
//!
//! let json = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hi"}"#;
//! let event: Event = serde_json::from_str(json)?;
//! assert_eq!(event.kind(), "TEXT_MESSAGE_CONTENT");
//! assert_eq!(serde_json::to_string(&event)?, json);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod borrowed;
mod capabilities;
mod common;
mod content;
mod expiry;
mod field;
mod made_media;
mod media;
mod media_type;
mod message;
mod model;
mod order;
mod outcome;
mod patch;
pub mod protobuf;
mod run_input;

pub use borrowed::EventRef;
pub use capabilities::{
    AgentCapabilities, ExecutionCapabilities, HumanInTheLoopCapabilities, IdentityCapabilities,
    MultiAgentCapabilities, MultimodalCapabilities, MultimodalInputCapabilities,
    MultimodalOutputCapabilities, OutputCapabilities, ReasoningCapabilities, StateCapabilities,
    SubagentInfo, ToolsCapabilities, TransportCapabilities,
};
pub use common::Common;
pub use content::{ContentPart, MediaPart, MessageContent, Source, TextPart};
pub use expiry::has_come;
pub use field::{EventError, Metadata};
pub use made_media::{MEDIA_ACTIVITY, made_media};
pub use made_media::{made_media_of, media_content};
pub use media::from_base64;
pub use media::{MediaError, MediaKind};
pub use media_type::extension_of;
pub use message::{
    ActivityMessage, AssistantMessage, FunctionCall, FunctionKind, Message, ReasoningMessage,
    TextualMessage, ToolCall, ToolMessage, UserMessage,
};
pub use model::*;
pub use order::{
    End, ExtraRules, Finding, OpenItems, OpenStep, Order, Phase, Rule, Severity, Verdict,
    Verification, Verifier, Violation,
};
pub use outcome::{Interrupt, ResumeEntry, ResumeStatus, RunOutcome, SubagentOutcome, TokenUsage};
pub use patch::{DEEPEST, is_within, weight};
pub use run_input::{Context, RunAgentInput, ToolDefinition};

/// The name of the `CUSTOM` event which says that a provider ended a part of its answer as something else than its pieces
/// had said: what counts from then on. Its value has `toolCallId` and `arguments`, all of them; or `messageId`, `text`, and
/// in `from` the number of bytes of the message's text that stay before it.
pub const REPLACED: &str = "stepwell.replaced";

/// In the metadata of a `RUN_ERROR` that was made from a provider's stream: the kind of error.
pub const ERROR_KIND: &str = "errorKind";

/// The same: the wait before the next try that the provider asks for, in milliseconds.
pub const RETRY_AFTER_MS: &str = "retryAfterMs";

/// The protocol version that Stepwell speaks.
pub const PROTOCOL_VERSION: &str = "1.0";
