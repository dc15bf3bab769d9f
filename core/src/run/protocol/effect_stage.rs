use super::input::Input;
use serde::{Deserialize, Serialize};

/// How far an effect has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EffectStage {
    /// It waits until this many blocks of the turn are stored.
    Held {
        /// How many.
        until: u64,
    },
    /// It waits for the host to ask.
    Queued,
    /// The host has it.
    Given,
    /// Of a stream: it is open, and its bytes come under the same id.
    Live,
    /// Of a tool: its result comes later, whatever becomes of the host.
    Deferred,
    /// Of a tool: it begins when another comes to its end.
    Waiting,
    /// It waits for the network.
    Offline,
}

impl EffectStage {
    /// Whether the input may answer an effect that has come so far.
    pub(in crate::run) fn takes(self, input: &Input<'_>) -> bool {
        let is_of_open_stream = matches!(
            input,
            Input::Received { .. } | Input::Ended { .. } | Input::Lost { .. }
        );
        match self {
            Self::Live => is_of_open_stream,
            Self::Given => !is_of_open_stream,
            Self::Deferred => matches!(input, Input::ToolFinished { .. }),
            Self::Held { .. } | Self::Queued | Self::Waiting | Self::Offline => false,
        }
    }
}
