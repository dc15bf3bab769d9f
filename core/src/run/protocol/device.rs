//! What the app wants of a run when something happens to the device.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What happens to a run when something happens to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct DevicePolicy {
    /// When the app goes to the background.
    pub background: BackgroundPolicy,
    /// When the network is gone.
    pub offline: OfflinePolicy,
    /// When another network takes the place of the one before.
    pub network_change: NetworkChangePolicy,
    /// When the app was killed, and the run is revived.
    pub killed: KilledPolicy,
}

/// What happens when the app goes to the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum BackgroundPolicy {
    /// Nothing: for hosts that go on working there.
    Continue,
    /// The clocks of the model's silence, of the tools, of the pause before a new try, of the wait for the network and
    /// of the turn stop, and run on in the foreground with what was left: a process that was frozen finds nothing timed
    /// out. What still happens in the background counts.
    #[default]
    PauseClocks,
    /// The turn is cancelled, as if by the user.
    Cancel,
}

/// What happens when the run needs the network and there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OfflinePolicy {
    /// A request is sent all the same, and if it fails there is no further try.
    Fail,
    /// Requests wait for the network, and one that failed without it does not count as a try. An open stream is left
    /// alone until the transport says that it is lost.
    Wait {
        /// How long at most; then the run fails.
        up_to: Duration,
    },
}

impl Default for OfflinePolicy {
    /// Five minutes.
    fn default() -> Self {
        Self::Wait {
            up_to: Duration::from_secs(300),
        }
    }
}

/// What happens to a request or a stream that is under way when another network takes the place of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum NetworkChangePolicy {
    /// It is left alone: the old network may carry it to its end.
    #[default]
    Keep,
    /// It is closed and opened again at once, if nothing was seen of it, or where the backend can resume it; else it is
    /// left alone.
    Reopen,
}

/// What happens to a turn that is revived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum KilledPolicy {
    /// It goes on.
    #[default]
    Continue,
    /// It is cancelled, as if by the user.
    Cancel,
}
