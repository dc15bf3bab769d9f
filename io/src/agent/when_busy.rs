//! What happens to a turn that begins while another turn of its thread is under way.

/// What happens to a turn that begins while another turn of its thread is under way:
/// [`AgentBuilder::when_busy`](crate::AgentBuilder::when_busy) sets it for an agent,
/// [`TurnBuilder::when_busy`](crate::TurnBuilder::when_busy) for one turn.
///
/// A turn that was cancelled, dropped or suspended is not under way, even if its last write still is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenBusy {
    /// The new turn fails at once with [`Failure::Busy`](crate::Failure::Busy): it is neither sent, stored, nor part of
    /// the conversation, and the other turn continues.
    #[default]
    Fail,
    /// The other turn is cancelled, and the new turn continues from where it stopped: for an app with one user, who has
    /// moved on.
    Cancel,
}
