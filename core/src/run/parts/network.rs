use serde::{Deserialize, Serialize};

/// A run's state with regard to the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Network {
    is_offline: bool,
    /// The attempts of the hop that do not count, because the network was lost or changed.
    uncounted: u32,
}

impl Network {
    pub(crate) fn is_offline(&self) -> bool {
        self.is_offline
    }

    pub(crate) fn lost(&mut self) {
        self.is_offline = true;
    }

    pub(crate) fn back(&mut self) {
        self.is_offline = false;
    }

    #[cfg(feature = "model-check")]
    pub(crate) fn uncounted(&self) -> u32 {
        self.uncounted
    }

    /// Excludes one attempt from the count.
    pub(crate) fn excuse_try(&mut self) {
        self.uncounted = self.uncounted.saturating_add(1);
    }

    /// Excludes the attempts up to this one from the count.
    pub(crate) fn count_from(&mut self, attempt: u32) {
        self.uncounted = attempt;
    }

    /// Returns the number of this attempt among those that count, from 1.
    pub(crate) fn counted(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.uncounted).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_without_a_network_does_not_count() {
        let mut network = Network::default();
        assert_eq!(network.counted(2), 2);
        network.excuse_try();
        assert_eq!(network.counted(2), 1);
        assert_eq!(network.counted(0), 1, "there is no try before the first");
        network.count_from(4);
        assert_eq!(network.counted(6), 2);
    }
}
