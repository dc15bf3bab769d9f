use serde::{Deserialize, Serialize};

/// A run's state with regard to the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Network {
    is_offline: bool,
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
}
