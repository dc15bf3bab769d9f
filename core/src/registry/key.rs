use crate::ThreadId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The key of a thread among all threads of a host, which may have several servers with several rooms.
///
/// Server and room may be empty, for hosts that have only one. Two keys name the same thread if all three fields are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadKey {
    /// The server; may be empty.
    #[serde(default)]
    pub server: String,
    /// The room on the server; may be empty.
    #[serde(default)]
    pub room: String,
    /// The conversation.
    pub thread: ThreadId,
}

impl ThreadKey {
    /// Creates the key of a thread in a room of a server.
    #[must_use]
    pub fn new(
        server: impl Into<String>,
        room: impl Into<String>,
        thread: impl Into<ThreadId>,
    ) -> Self {
        Self {
            server: server.into(),
            room: room.into(),
            thread: thread.into(),
        }
    }
}

impl From<ThreadId> for ThreadKey {
    /// The thread of a host that has one server and no rooms.
    fn from(thread: ThreadId) -> Self {
        Self::new("", "", thread)
    }
}

impl From<&str> for ThreadKey {
    /// The thread of a host that has one server and no rooms.
    fn from(thread: &str) -> Self {
        Self::new("", "", thread)
    }
}

impl From<String> for ThreadKey {
    /// The thread of a host that has one server and no rooms.
    fn from(thread: String) -> Self {
        Self::new("", "", thread)
    }
}

impl From<&String> for ThreadKey {
    /// The thread of a host that has one server and no rooms.
    fn from(thread: &String) -> Self {
        Self::from(thread.as_str())
    }
}

/// Formats the key for logs: `thread`, or `server/room/thread`. Do not parse it: an id may contain a slash.
impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.server.is_empty() && self.room.is_empty() {
            write!(f, "{}", self.thread)
        } else {
            write!(f, "{}/{}/{}", self.server, self.room, self.thread)
        }
    }
}
