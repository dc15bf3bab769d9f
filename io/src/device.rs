//! The state of the device that the agents run on, as the app reports it.

use std::fmt;
use std::sync::LazyLock;
use stepwell_core::run::Input;
use tokio::sync::watch;

/// The device that agents run on: whether the app is in the background, and whether there is a network. The app
/// reports changes here, which concern the turns under way and those that begin later. Clones are the same device.
///
/// A turn reacts as [`DevicePolicy`](stepwell_core::run::DevicePolicy) says: by default its clocks stop in the
/// background, so that nothing times out while the app is frozen, and requests wait for the next network.
///
/// All agents of a process share [`Device::shared`], unless [`AgentBuilder::device`](crate::AgentBuilder::device)
/// sets another.
///
/// ```
/// use stepwell_io::Device;
///
/// let device = Device::shared();
/// device.entered_background();
/// device.entered_foreground();
/// ```
#[derive(Clone)]
pub struct Device(watch::Sender<DeviceState>);

static SHARED: LazyLock<Device> = LazyLock::new(Device::new);

impl Device {
    /// Returns a device of its own: in the foreground, with a network.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::default())
    }

    /// Returns the device of this process.
    #[must_use]
    pub fn shared() -> Self {
        SHARED.clone()
    }

    /// Reports that the app goes to the background.
    pub fn entered_background(&self) {
        self.0.send_modify(DeviceState::enter_background);
    }

    /// Reports that the app is in the foreground again.
    pub fn entered_foreground(&self) {
        self.0.send_modify(DeviceState::enter_foreground);
    }

    /// Reports that the network is gone. By default a request that fails meanwhile counts as no attempt.
    pub fn network_lost(&self) {
        self.0.send_modify(DeviceState::lose_network);
    }

    /// Reports that there is a network, or that another network has replaced it.
    pub fn network_available(&self) {
        self.0.send_modify(DeviceState::find_network);
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<DeviceState> {
        self.0.subscribe()
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&*self.0.borrow()).finish()
    }
}

/// The state of the device. It counts changes, so that a turn misses no change that is over when it reads the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceState {
    is_in_background: bool,
    times_in_background: u64,
    is_offline: bool,
    networks: u64,
}

impl DeviceState {
    pub(crate) fn enter_background(&mut self) {
        self.is_in_background = true;
        self.times_in_background += 1;
    }

    pub(crate) fn enter_foreground(&mut self) {
        self.is_in_background = false;
    }

    pub(crate) fn lose_network(&mut self) {
        self.is_offline = true;
    }

    pub(crate) fn find_network(&mut self) {
        self.is_offline = false;
        self.networks += 1;
    }

    /// Returns the inputs for a machine that knows the state `before`.
    pub(crate) fn inputs_since(self, before: Self) -> Vec<Input<'static>> {
        let mut news = Vec::new();
        if self.times_in_background != before.times_in_background {
            news.push(Input::EnteredBackground);
        }
        let was_told = !news.is_empty() || before.is_in_background;
        if was_told && !self.is_in_background {
            news.push(Input::EnteredForeground);
        }
        if self.networks != before.networks {
            news.push(Input::NetworkAvailable);
        }
        if self.is_offline && (!before.is_offline || self.networks != before.networks) {
            news.push(Input::NetworkLost);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(change: impl FnOnce(&mut DeviceState), before: DeviceState) -> Vec<&'static str> {
        let mut device = before;
        change(&mut device);
        let news = device.inputs_since(before);
        news.iter().map(Input::name).collect()
    }

    #[test]
    fn reports_changes_that_are_over() {
        let mut away = DeviceState::default();
        away.enter_background();
        away.lose_network();
        assert_eq!(
            names(|_| {}, DeviceState::default()),
            Vec::<&str>::new(),
            "nothing is new"
        );
        assert_eq!(
            away.inputs_since(DeviceState::default()),
            [Input::EnteredBackground, Input::NetworkLost]
        );
        assert_eq!(
            names(DeviceState::enter_foreground, away),
            ["EnteredForeground"]
        );
        assert_eq!(names(DeviceState::find_network, away), ["NetworkAvailable"]);
        let blink = |device: &mut DeviceState| {
            device.enter_background();
            device.enter_foreground();
            device.lose_network();
            device.find_network();
        };
        assert_eq!(
            names(blink, DeviceState::default()),
            ["EnteredBackground", "EnteredForeground", "NetworkAvailable"]
        );
        let gone_again = |device: &mut DeviceState| {
            device.find_network();
            device.lose_network();
        };
        assert_eq!(names(gone_again, away), ["NetworkAvailable", "NetworkLost"]);
    }
}
