//! What happens to a message that is sent while a turn of its conversation is under way.

/// What happens to a message that is sent while a turn of its conversation is under way:
/// [`Run::when_busy`](crate::Run::when_busy).
///
/// A turn that was cancelled, dropped or suspended is not under way, even if its last write still is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenBusy {
    /// The message fails at once with [`ErrorKind::Busy`](crate::ErrorKind::Busy): it is neither sent, stored, nor part
    /// of the conversation, and the other turn continues.
    #[default]
    Fail,
    /// The other turn is cancelled, and the new turn continues from where it stopped: for an app with one user, who has
    /// moved on.
    Cancel,
    /// The new turn waits until the other turn is over, behind those that wait already.
    Queue,
    /// The message joins the other turn, which answers it with its next request, and the result is that of the other
    /// turn. If the other turn cannot take the message in, because it gives its last answer, a new turn begins after it.
    Steer,
}
