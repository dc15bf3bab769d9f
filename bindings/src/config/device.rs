use crate::time::Duration;
use serde::Deserialize;
use stepwell_core::run;
use stepwell_mirror::mirror;

mirror! {
    /// What happens to a run when the state of the device changes. The app reports changes with `entered_background`,
    /// `network_lost` and their opposites.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    #[mirror(stepwell_core::run::DevicePolicy, both, default)]
    pub struct DevicePolicy {
        /// When the app goes to the background; the clocks pause if absent.
        background?,
        /// When the network is gone: how long requests wait for it, and a request that failed meanwhile does not count
        /// as a try: five minutes if left out. If none, requests are sent all the same, and one that fails is not
        /// retried.
        #[uniffi(default = Some(300000))]
        #[serde(rename = "offlineMs")]
        offline: Option<Duration> = match offline {
            run::OfflinePolicy::Fail => None,
            run::OfflinePolicy::Wait { up_to } => Some(up_to.into()),
        } => match offline {
            None => run::OfflinePolicy::Fail,
            Some(up_to) => run::OfflinePolicy::Wait { up_to: up_to.into() },
        },
        /// When another network replaces the current one; streams under way are kept if absent.
        network_change?,
        /// When the app was killed, and the run is revived; the turn continues if absent.
        killed?,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::BackgroundPolicy, both)]
    pub enum BackgroundPolicy {
        /// Nothing: for apps that keep working in the background.
        Continue,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::NetworkChangePolicy, both)]
    pub enum NetworkChangePolicy;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::KilledPolicy, both)]
    pub enum KilledPolicy;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the defaults that the documentation of each field states.
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
