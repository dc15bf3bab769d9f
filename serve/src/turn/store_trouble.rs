//! A store that does not accept a turn's events, and the client's notice of that. The store's own error texts may name
//! addresses and files: they are for the log alone.

use crate::turn::ending::custom;
use serde_json::{Value, json};
use stepwell_core::event::Event;
use stepwell_io::store::StoreError;

/// The fault of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTrouble {
    /// The store has no room.
    Full,
    /// The store is read-only.
    ReadOnly,
    /// The store cannot be reached.
    Unavailable,
}

impl From<&StoreError> for StoreTrouble {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Full { .. } => Self::Full,
            StoreError::ReadOnly { .. } => Self::ReadOnly,
            _ => Self::Unavailable,
        }
    }
}

impl StoreTrouble {
    /// Returns a live notice that no more events are shown until the store works again. It is no part of the turn's
    /// log, which cannot be written now, and so it has no id.
    pub fn waiting(self) -> Event {
        let message = match self {
            Self::Full => "the server's store is full: the turn waits until there is room",
            Self::ReadOnly => {
                "the server's store can only be read: the turn waits until it can be written"
            }
            Self::Unavailable => "the server cannot reach its store: the turn waits until it can",
        };
        custom("store_waiting", self.value(message))
    }

    /// Tells in the log, once that can be written again, that the turn had to wait.
    pub fn warning(self) -> Event {
        let message = match self {
            Self::Full => "the server's store was full, and the turn had to wait",
            Self::ReadOnly => "the server's store could only be read, and the turn had to wait",
            Self::Unavailable => "the server could not reach its store, and the turn had to wait",
        };
        custom("warning", self.value(message))
    }

    fn value(self, message: &str) -> Value {
        let code = match self {
            Self::Full => "store_full",
            Self::ReadOnly => "store_read_only",
            Self::Unavailable => "store_unavailable",
        };
        json!({ "code": code, "message": message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_does_not_see_the_stores_message() {
        let message = "no route to 10.0.0.7, nor to /var/lib/turns.db".to_owned();
        for error in [
            StoreError::Unavailable {
                message: message.clone(),
            },
            StoreError::Full {
                message: message.clone(),
            },
            StoreError::ReadOnly {
                message: message.clone(),
            },
            StoreError::Other { message },
        ] {
            let trouble = StoreTrouble::from(&error);
            for event in [trouble.waiting(), trouble.warning()] {
                let told = serde_json::to_string(&event).expect("JSON");
                assert!(!told.contains("10.0") && !told.contains("/var"), "{told}");
                assert!(told.contains(r#""code":"store_"#), "{told}");
            }
        }
    }
}
