//! The state of the device as the app reports it, for the turns under way and for later ones.

use stepwell_core::run::Input;

/// The state of the device. It counts changes, so that a turn misses no change that is over when it reads the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Device {
    is_in_background: bool,
    times_in_background: u64,
    is_offline: bool,
    networks: u64,
}

impl Device {
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

    fn names(change: impl FnOnce(&mut Device), before: Device) -> Vec<&'static str> {
        let mut device = before;
        change(&mut device);
        let news = device.inputs_since(before);
        news.iter().map(Input::name).collect()
    }

    #[test]
    fn reports_changes_that_are_over() {
        let mut away = Device::default();
        away.enter_background();
        away.lose_network();
        assert_eq!(
            names(|_| {}, Device::default()),
            Vec::<&str>::new(),
            "nothing is new"
        );
        assert_eq!(
            away.inputs_since(Device::default()),
            [Input::EnteredBackground, Input::NetworkLost]
        );
        assert_eq!(names(Device::enter_foreground, away), ["EnteredForeground"]);
        assert_eq!(names(Device::find_network, away), ["NetworkAvailable"]);
        let blink = |device: &mut Device| {
            device.enter_background();
            device.enter_foreground();
            device.lose_network();
            device.find_network();
        };
        assert_eq!(
            names(blink, Device::default()),
            ["EnteredBackground", "EnteredForeground", "NetworkAvailable"]
        );
        let gone_again = |device: &mut Device| {
            device.find_network();
            device.lose_network();
        };
        assert_eq!(names(gone_again, away), ["NetworkAvailable", "NetworkLost"]);
    }
}
