use super::input::Input;
use serde::{Deserialize, Serialize};

/// The progress of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EffectStage {
    /// The effect waits until this many blocks of the turn are stored.
    Held {
        /// The number of blocks.
        until: u64,
    },
    /// The effect waits for the host to take it.
    Queued,
    /// The host has it.
    Given,
    /// The stream is open, and its bytes come under the same id.
    Live,
    /// The tool's result comes later, independently of the host.
    Deferred,
    /// The tool begins when another one ends.
    Waiting,
    /// The effect waits for the network.
    Offline,
}

impl EffectStage {
    /// Returns whether the input may answer an effect that has come so far.
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
