use serde::{Deserialize, Serialize};
use stepwell_mirror::mirror;

mirror! {
    /// Names one thread among all that an app has, on several servers and in several rooms of each. Two keys are the
    /// same thread if all three parts are the same.
    #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, uniffi::Record)]
    #[serde(deny_unknown_fields)]
    #[mirror(stepwell_core::registry::ThreadKey, own, both)]
    pub struct ThreadKey {
        /// The conversation.
        thread: ThreadId,
        /// The room on the server; may be empty.
        #[serde(default)]
        #[uniffi(default = "")]
        room: String,
        /// The server; may be empty.
        #[serde(default)]
        #[uniffi(default = "")]
        server: String,
    }
}
