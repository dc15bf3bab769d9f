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

/// Begins the hop with this number: what the user has typed goes in, and if the provider can take the conversation,
/// the request for its stream goes out, or the host is asked to create its run.
///
/// # Errors
/// The provider does not take what is attached, or the conversation does not fit the model's context.
pub(super) fn begin(turn: &mut Turn, hop: u32) -> Result<(), Failure> {
    let counted = window::counted(turn);
    // What is new since the last request.
    let since = if hop == 0 { 0 } else { turn.stream_start() };
    turn.enter_hop(hop);
    media::look_at(turn, since)?;
    window::guard(turn, counted)
}
