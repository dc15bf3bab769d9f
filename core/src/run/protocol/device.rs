//! The app's policies for changes of the device.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The policies of a run for changes of the device.
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

/// The policy for an app that goes to the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum BackgroundPolicy {
    /// Does nothing: for hosts that keep working in the background.
    Continue,
    /// Stops the clocks of the model's silence, of the tools, of the pause before a retry, of the wait for the network
    /// and of the turn. In the foreground they continue with the time that was left, so that nothing times out while
    /// the process is frozen. Whatever still happens in the background counts.
    #[default]
    PauseClocks,
    /// The turn is cancelled, as if by the user.
    Cancel,
}

/// The policy for a run that needs the network while there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OfflinePolicy {
    /// The request is sent all the same. If it fails, there is no retry.
    Fail,
    /// Requests wait for the network, and one that failed without it does not count as an attempt. An open stream is
    /// left alone until the transport reports that it is lost.
    Wait {
        /// The maximum wait; after it the run fails.
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

/// The policy for a request or a stream in progress when another network replaces the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum NetworkChangePolicy {
    /// The request is left alone: the old network may complete it.
    #[default]
    Keep,
    /// The request is closed and opened again at once, if nothing of the answer was seen or the backend can resume it.
    /// Otherwise it is left alone.
    Reopen,
}

/// The policy for a turn that is revived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum KilledPolicy {
    /// The turn continues.
    #[default]
    Continue,
    /// The turn is cancelled, as if by the user.
    Cancel,
}
