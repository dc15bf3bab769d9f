use crate::same::same;
use crate::time::Duration;
use serde::Deserialize;
use stepwell_core::run;

/// What happens to a run when something happens to the device. The app says so with `entered_background`,
/// `network_lost` and their opposites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DevicePolicy {
    /// When the app goes to the background; the clocks pause if absent.
    #[uniffi(default = None)]
    pub background: Option<BackgroundPolicy>,
    /// When the network is gone: how long requests wait for it, and one that failed without it is no
    /// try: five minutes if left out. If none they are sent all the same, and one that fails is not tried again.
    #[uniffi(default = Some(300000))]
    #[serde(rename = "offlineMs")]
    pub offline: Option<Duration>,
    /// When another network takes the place of the one before; what is under way is kept if absent.
    #[uniffi(default = None)]
    pub network_change: Option<NetworkChangePolicy>,
    /// When the app was killed, and the run is revived; the turn goes on if absent.
    #[uniffi(default = None)]
    pub killed: Option<KilledPolicy>,
}

/// What happens when the app goes to the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum BackgroundPolicy {
    /// Nothing: for apps that go on working there.
    Continue,
    /// The clocks of the model's silence, of the tools, of the pause before a new try, of the wait for the network and
    /// of the turn stop, and run on in the foreground with what was left.
    PauseClocks,
    /// The turn is cancelled, as if by the user.
    Cancel,
}

/// What happens to a request or a stream that is under way when another network takes the place of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum NetworkChangePolicy {
    /// It is left alone: the old network may carry it to its end.
    Keep,
    /// It is closed and opened again at once, if nothing was seen of it, or where the server can resume it.
    Reopen,
}

/// What happens to a turn that is revived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum KilledPolicy {
    /// It goes on.
    Continue,
    /// It is cancelled, as if by the user.
    Cancel,
}

impl Default for DevicePolicy {
    fn default() -> Self {
        Self {
            background: None,
            offline: match run::OfflinePolicy::default() {
                run::OfflinePolicy::Wait { up_to } => Some(up_to.into()),
                run::OfflinePolicy::Fail => None,
            },
            network_change: None,
            killed: None,
        }
    }
}

same!(
    BackgroundPolicy = run::BackgroundPolicy {
        Continue,
        PauseClocks,
        Cancel
    }
);
same!(NetworkChangePolicy = run::NetworkChangePolicy { Keep, Reopen });
same!(KilledPolicy = run::KilledPolicy { Continue, Cancel });

impl From<DevicePolicy> for run::DevicePolicy {
    fn from(policy: DevicePolicy) -> Self {
        Self {
            background: policy.background.map(Into::into).unwrap_or_default(),
            offline: match policy.offline {
                None => run::OfflinePolicy::Fail,
                Some(up_to) => run::OfflinePolicy::Wait {
                    up_to: up_to.into(),
                },
            },
            network_change: policy.network_change.map(Into::into).unwrap_or_default(),
            killed: policy.killed.map(Into::into).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the documentation of each field says of its absence.
    #[test]
    fn what_is_absent_is_as_in_the_core() {
        let said = DevicePolicy {
            background: Some(BackgroundPolicy::PauseClocks),
            offline: Some(Duration::from_millis(300_000)),
            network_change: Some(NetworkChangePolicy::Keep),
            killed: Some(KilledPolicy::Continue),
        };
        for policy in [said, crate::config::tests::device()] {
            assert_eq!(
                run::DevicePolicy::from(policy),
                run::DevicePolicy::default()
            );
        }
    }
}
