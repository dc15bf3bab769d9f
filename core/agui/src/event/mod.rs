//! The AG-UI 1.0 event model, which all of Stepwell uses.
//!
//! [`Event`] is the owned, complete form: all 31 events of the protocol, with unknown events and unknown fields kept.
//! [`EventRef`] is what a decoder pushes: the three kinds of delta borrow the bytes they came from, everything else
//! refers to an [`Event`]. [`Order`] checks that events come in an order that the protocol allows,
//! and [`Verifier`] says what becomes of those that do not.
//!
//! Source: AG-UI 1.0, <https://docs.ag-ui.com>, and its JSON Schema.
//!
//! ```
//! use stepwell_agui::event::Event;
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
#[cfg(feature = "protobuf")]
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
pub use field::{EventError, Metadata};
pub use made_media::{MEDIA_ACTIVITY, made_media, made_media_of};
pub use media::{MediaError, MediaKind};
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
pub use run_input::{Context, RunAgentInput, ToolDefinition};

// Helpers that Stepwell's other crates share. They are hidden because they may change in any release.
#[doc(hidden)]
pub use self::{
    expiry::has_come,
    made_media::media_content,
    media::from_base64,
    media_type::extension_of,
    patch::{DEEPEST, is_within, weight},
};

/// The name of the `CUSTOM` event that replaces streamed content, sent when a provider's final version of a part
/// differs from its deltas. The event's value has either `toolCallId` and the complete `arguments`, or `messageId`,
/// `text`, and in `from` the number of bytes of the message's text to keep before `text`.
pub const REPLACED: &str = "stepwell.replaced";

/// The name of the metadata field that holds the kind of error, in a `RUN_ERROR` built from a provider's stream.
pub const ERROR_KIND: &str = "errorKind";

/// The name of the metadata field that holds the delay, in milliseconds, that the provider asks for before a retry, in
/// a `RUN_ERROR` built from a provider's stream.
pub const RETRY_AFTER_MS: &str = "retryAfterMs";

/// The protocol version that Stepwell speaks.
pub const PROTOCOL_VERSION: &str = "1.0";
