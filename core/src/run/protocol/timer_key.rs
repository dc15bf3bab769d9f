use super::hook::HookPlace;
use crate::CallKey;
use serde::{Deserialize, Serialize};

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerKey {
    /// The model has been silent for too long.
    Silence,
    /// A failed request is due for a retry.
    Retry,
    /// A tool has taken too long.
    Tool(CallKey),
    /// The turn has taken too long.
    Turn,
    /// The user has taken too long to allow a call.
    Approval(CallKey),
    /// The network has been away for too long.
    Network,
    /// The answer is over, and its stream was left open long enough.
    Closing,
    /// The host has taken too long to decode the typed answer.
    Output,
    /// The host has taken too long to give the credentials of a request.
    Credentials,
    /// The user has taken too long to answer the call's question of this number.
    Question(CallKey, u32),
    /// A hook has taken too long.
    Hook(HookPlace),
}

impl TimerKey {
    /// Returns whether the clock is stopped while the app is suspended; see
    /// [`BackgroundPolicy::PauseClocks`](crate::run::BackgroundPolicy::PauseClocks).
    pub(in crate::run) fn stops_in_background(self) -> bool {
        match self {
            Self::Silence
            | Self::Retry
            | Self::Tool(_)
            | Self::Turn
            | Self::Network
            | Self::Closing
            | Self::Output
            | Self::Credentials
            | Self::Hook(_) => true,
            // The user's time runs on.
            Self::Approval(_) | Self::Question(..) => false,
        }
    }
}
