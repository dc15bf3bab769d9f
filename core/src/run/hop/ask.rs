use crate::run::protocol::{EffectId, HookPlace, RunEvent, RunIds};
use crate::run::turn::Turn;

/// Sends the hop's request once the hooks have inspected it.
pub(super) fn ask_model(turn: &mut Turn) {
    let hop = turn.hop();
    // The hooks have seen the request if another model was to answer it.
    if is_first_model(turn) && turn.ask_hooks(HookPlace::Request { hop }) {
        return;
    }
    send(turn);
}

/// Sends the request for the hop's stream, or asks the host to create its run.
pub(in crate::run) fn send(turn: &mut Turn) {
    let hop = turn.hop();
    if !is_first_model(turn) {
        let attempt = turn.first_attempt();
        return turn.emit(EffectId::Open { hop, attempt });
    }
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
    let attempt = turn.first_attempt();
    turn.emit(EffectId::Open { hop, attempt });
}

/// Returns whether no model was asked for the hop's answer yet.
fn is_first_model(turn: &Turn) -> bool {
    turn.is_first_model()
}
