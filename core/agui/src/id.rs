use serde::{Deserialize, Serialize};
use std::{borrow::Borrow, fmt, ops::Deref};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Returns the id.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the id as an owned string.
            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// The id of a conversation.
    ThreadId
    /// The id of a hop, which is one stream from the model.
    RunId
    /// The id of a message in a conversation.
    MessageId
    /// The id of a tool call, from the provider or the decoder.
    ToolCallId
}

/// The position of a tool call: its hop, and its index among that hop's calls.
///
/// A key is unique within a run, even if a provider repeats its ids or sends none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallKey {
    /// The hop, from 0.
    pub hop: u32,
    /// The position among the hop's calls, from 0.
    pub index: u32,
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.hop, self.index)
    }
}

impl MessageId {
    /// Returns the id of the message with the result of the call at `index` among a hop's calls.
    #[must_use]
    pub fn of_result(run_id: &RunId, index: usize) -> Self {
        format!("{run_id}-result-{index}").into()
    }
}
