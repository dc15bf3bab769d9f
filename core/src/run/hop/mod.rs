//! The beginning of a hop: the one place from which the model is asked.

mod media;
mod request;
mod trim;
mod window;

pub(super) use request::request;
pub(super) use window::{cannot_trim, overflow, trimmed};

use super::protocol::{EffectId, Failure, RunEvent, RunIds};
use super::turn::Turn;

/// Begins the hop with this number: what the person has typed goes in, and if the provider can take the conversation,
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

/// The request for the hop's stream goes out, or the host is asked to create its run.
fn ask_model(turn: &mut Turn) {
    let hop = turn.hop();
    if hop > 0 {
        turn.enter_next_run();
    }
    if turn.config().run_ids == RunIds::Host {
        return turn.emit(EffectId::CreateRun { hop });
    }
    if hop > 0 {
        let run_id = turn.ids().run_id.clone();
        turn.event(RunEvent::HopStarted { hop, run_id });
    }
    turn.emit(EffectId::Open { hop, attempt: 0 });
}
