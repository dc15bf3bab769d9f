use serde::{Deserialize, Serialize};
use stepwell_core::registry;

/// Names one thread among all that an app has: of several servers, and of several rooms on each. Two keys are the same
/// thread if all three parts are the same.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    uniffi::Record,
)]
#[serde(deny_unknown_fields)]
pub struct ThreadKey {
    /// The conversation.
    pub thread: String,
    /// The room on the server; may be empty.
    #[serde(default)]
    #[uniffi(default = "")]
    pub room: String,
    /// The server; may be empty.
    #[serde(default)]
    #[uniffi(default = "")]
    pub server: String,
}

impl From<registry::ThreadKey> for ThreadKey {
    fn from(key: registry::ThreadKey) -> Self {
        Self {
            thread: key.thread.into_string(),
            room: key.room,
            server: key.server,
        }
    }
}

impl From<ThreadKey> for registry::ThreadKey {
    fn from(key: ThreadKey) -> Self {
        Self::new(key.server, key.room, key.thread)
    }
}
