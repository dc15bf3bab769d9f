use crate::event::{ExtraRules, Verification};
use serde::{Deserialize, Serialize};

/// The differences between an AG-UI agent and the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct AgUiOptions {
    /// The encodings of the event stream that the request offers. The agent's response decides which one is used.
    pub encoding: AgUiEncoding,
    /// Whether the agent is older than AG-UI 1.0 and fails on a `protocolVersion`. The request then has none.
    pub is_before_1_0: bool,
    /// Whether events and fields that AG-UI 1.0 does not know are kept. The protocol drops them.
    pub keeps_unknown: bool,
    /// The handling of events that break the protocol's order.
    pub verification: Verification,
    /// The handling of breaches of rules that are in the protocol's text but that the reference client does not check.
    pub extra_rules: ExtraRules,
}

impl AgUiOptions {
    /// The default options.
    pub const EXPECTED: Self = Self {
        encoding: AgUiEncoding::Json,
        is_before_1_0: false,
        keeps_unknown: false,
        verification: Verification::Protocol,
        extra_rules: ExtraRules::Warn,
    };
}

/// The encodings of an event stream that an agent is offered in `Accept`. Without the feature `protobuf` it is offered JSON
/// alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum AgUiEncoding {
    /// Server-sent events of JSON.
    #[default]
    Json,
    /// Server-sent events of JSON, or protobuf as the second choice.
    JsonFirst,
    /// Protobuf, or server-sent events of JSON as the second choice. Many servers send protobuf whenever it is offered.
    ProtobufFirst,
}
