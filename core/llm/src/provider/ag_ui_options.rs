use crate::event::{ExtraRules, Verification};
use serde::{Deserialize, Serialize};

/// How an AG-UI agent differs from what is expected of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AgUiOptions {
    /// The encodings of the event stream that it is offered. What it answers with decides.
    pub encoding: AgUiEncoding,
    /// It is from before 1.0, and stumbles over a `protocolVersion`: none is sent.
    pub is_before_1_0: bool,
    /// Whether the app is handed events and fields that AG-UI 1.0 does not know. The protocol has them dropped.
    pub keeps_unknown: bool,
    /// What becomes of events that break the order that the protocol allows.
    pub verification: Verification,
    /// What becomes of breaches of the rules that the protocol's text has and the reference client does not check.
    pub extra_rules: ExtraRules,
}

impl AgUiOptions {
    /// What is expected of an agent; the default.
    pub const EXPECTED: Self = Self {
        encoding: AgUiEncoding::Json,
        is_before_1_0: false,
        keeps_unknown: false,
        verification: Verification::Protocol,
        extra_rules: ExtraRules::Warn,
    };
}

/// The encodings of an event stream that an agent is offered in `Accept`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgUiEncoding {
    /// Server-sent events of JSON.
    #[default]
    Json,
    /// The same, or else protobuf.
    JsonFirst,
    /// Protobuf, or else server-sent events of JSON. Many servers send protobuf to whoever takes it at all.
    ProtobufFirst,
}
