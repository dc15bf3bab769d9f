//! The observer of a stream.

use crate::event::{EventRef, Finding};
use crate::transcript::{Applied, Transcript};

/// Observes what a stream does to the conversation.
pub trait Listener {
    /// An event was applied; `conversation` is the one after the event.
    fn applied(&mut self, event: EventRef<'_>, applied: &Applied, transcript: &Transcript);

    /// An event is about to move messages to other positions: each [`Item`](crate::transcript::Item) reported so far is
    /// valid for the last time.
    fn moving(&mut self, transcript: &Transcript);

    /// The stream has something odd that does not stop it.
    fn warning(&mut self, message: &str);

    /// An event for a tool call that never began, or has ended: it was dropped.
    fn unknown_call(&mut self, id: &str, message: &str);

    /// The order of events is broken, in the frame of this number, in a way that does not stop the stream. If this is
    /// not implemented, it is a [`warning`](Self::warning).
    fn finding(&mut self, finding: &Finding, frame: u64) {
        self.warning(&finding.in_frame(frame));
    }
}

/// Ignores everything, for callers that need only the conversation.
impl Listener for () {
    fn applied(&mut self, _event: EventRef<'_>, _applied: &Applied, _conversation: &Transcript) {}
    fn moving(&mut self, _conversation: &Transcript) {}
    fn warning(&mut self, _message: &str) {}
    fn unknown_call(&mut self, _id: &str, _message: &str) {}
}
