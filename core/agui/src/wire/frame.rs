use serde::{Deserialize, Serialize};

/// An event of a body, borrowed from the chunk where possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The event's name; empty when the server gave none (an `EventSource` would call it `message`).
    pub event: &'a [u8],
    /// The event's text: the `data` lines joined by LF, or the JSON line. It is not checked to be UTF-8. In a binary
    /// body, the message.
    pub data: &'a [u8],
    /// The last event id in force at this event; empty when there is none.
    pub id: &'a [u8],
    /// Whether `data` is text from outside the format: lines of a body of server-sent events that are not fields. A
    /// server or a proxy that fails in mid-stream reports its error that way.
    pub is_stray: bool,
    /// Whether the frame reports a failure instead of an event: an exception or an error of an event stream of AWS.
    /// `event` is the failure's name.
    pub is_failure: bool,
}

/// The limits of the data that a framer holds, in bytes.
///
/// A framer's memory stays below `event` plus four times `line` (the cut line, the event's name, and two ids).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameLimits {
    /// The maximum length of a line, without its line end.
    pub line: usize,
    /// The maximum size of an event's data, including the LFs between its lines.
    pub event: usize,
}

impl Default for FrameLimits {
    /// 64 MiB each: a tool call of the 32 MiB that an answer may bring, with its escapes, in one frame.
    fn default() -> Self {
        const CAP: usize = 64 * 1024 * 1024;
        Self {
            line: CAP,
            event: CAP,
        }
    }
}
