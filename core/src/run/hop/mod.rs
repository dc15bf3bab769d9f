//! The beginning of a hop: the one place from which the model is asked.

mod ask;
mod media;
mod request;
mod trim;
mod window;

pub(super) use ask::send;
pub(super) use request::{request, request_subject};
pub(super) use window::{cannot_trim, overflow, trimmed};

use super::protocol::Failure;
use super::turn::Turn;

/// Begins the hop with this number. The messages that the user has typed join the conversation. If the provider accepts
/// it, the request for the stream is sent, or the host is asked to create its run.
///
/// # Errors The provider does not accept an attachment, or the transcript does not fit the model's context.
pub(super) fn begin(turn: &mut Turn, hop: u32) -> Result<(), Failure> {
    let counted = window::counted(turn);
    // The messages since the last request.
    let since = if hop == 0 { 0 } else { turn.stream_start() };
    turn.enter_hop(hop);
    media::look_at(turn, since)?;
    window::guard(turn, counted)
}
