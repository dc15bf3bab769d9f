//! The beginning of a hop: the one place from which the model is asked.

mod ask;
mod media;
mod request;
mod summary;
mod trim;
mod window;

pub(super) use ask::send;
pub(super) use request::{request, request_subject};
pub(super) use window::{not_trimmed, overflow, summarized, trimmed};

use super::parts::Counted;
use super::protocol::{EffectId, Failure};
use super::turn::Turn;

/// Begins the hop with this number. The messages that the user has typed join the conversation. If the provider accepts
/// it, the request for the stream is sent, or the host is asked to create its run. A host that chooses the models of hops
/// is asked for one first.
///
/// # Errors
/// The provider does not accept an attachment, or the transcript does not fit the model's context.
pub(super) fn begin(turn: &mut Turn, hop: u32) -> Result<(), Failure> {
    let before = enter(turn, hop);
    if turn.asks_host_for_model() {
        turn.emit(EffectId::ChooseModel { hop });
        return Ok(());
    }
    ask(turn, before)
}

/// Begins the hop with the model that takes the place of one that failed.
///
/// # Errors
/// As for [`begin`].
pub(super) fn begin_after_failure(turn: &mut Turn, hop: u32) -> Result<(), Failure> {
    enter(turn, hop);
    ask_chosen(turn)
}

/// Asks a model that was just chosen for the hop's answer.
///
/// # Errors
/// As for [`begin`].
pub(super) fn ask_chosen(turn: &mut Turn) -> Result<(), Failure> {
    let counted = turn.window().counted();
    // What one provider accepts, another one may not.
    ask(turn, Before { counted, since: 0 })
}

/// What a hop must know of the one before it.
#[derive(Clone, Copy)]
struct Before {
    /// The provider's count.
    counted: Option<Counted>,
    /// The index of the first message since its request.
    since: usize,
}

fn enter(turn: &mut Turn, hop: u32) -> Before {
    let counted = window::counted(turn);
    let since = if hop == 0 { 0 } else { turn.stream_start() };
    if hop == 0 {
        turn.choose_first_model();
    }
    turn.enter_hop(hop);
    if turn.has_fallback() {
        turn.window_mut().keep_count(counted);
    }
    Before { counted, since }
}

fn ask(turn: &mut Turn, before: Before) -> Result<(), Failure> {
    media::look_at(turn, before.since)?;
    window::guard(turn, before.counted)
}
