//! The canonical form of a run: two runs of one form have the same future. All abstractions of the model checker are
//! here and in the files of this name in `parts`, and nowhere else. Owns no field, reads all of them.

use super::Turn;
use crate::run::abstraction::{Abstraction, json};
use crate::run::parts::{Clocks, Effects};
use crate::run::protocol::{EffectStage, StateKind};
use serde::Serialize;
use std::hash::{Hash, Hasher};

impl Turn {
    /// Returns the number of blocks that are stored.
    pub(in crate::run) fn durable(&self) -> u64 {
        self.recorder.durable()
    }

    /// Feeds the canonical form to a hasher, with what its state keeps.
    pub(in crate::run) fn canon(
        &self,
        state: StateKind,
        kept: &impl Serialize,
        abstraction: &Abstraction,
        out: &mut impl Hasher,
    ) {
        state.hash(out);
        json(kept, out);
        canon(self, state, abstraction, out);
    }
}

fn canon(turn: &Turn, state: StateKind, abstraction: &Abstraction, out: &mut impl Hasher) {
    // Every field is named, so that a new one makes its author decide.
    let Turn {
        setup,
        transcript,
        id,
        ids,
        parent_run_id,
        resume,
        effects,
        clocks,
        recorder,
        budget,
        beginnings,
        hop_state,
        tries,
        // In `canon_kept`.
        hop: _,
        route: _,
        presenter: _,
        network: _,
        access: _,
        window: _,
        steering: _,
        typed: _,
        empty: _,
        questions: _,
        changed_request: _,
        status: _,
        stopped_calls: _,
        broken_stream: _,
        background: _,
        draft: _,
        comeback: _,
    } = turn;
    canon_kept(turn, abstraction, out);
    canon_effects(effects, recorder.durable(), abstraction, out);
    canon_clocks(clocks, abstraction, out);
    // The use has no effect where it has no limit.
    budget.canon(&setup.config().limits, abstraction, out);

    // Once a hop has its answer, its tries no longer have an effect: the next hop counts from the beginning.
    let awaits_answer = matches!(
        state,
        StateKind::Opening | StateKind::Waiting | StateKind::Streaming | StateKind::Reviewing
    );
    if awaits_answer || !abstraction.history {
        json(tries, out);
    }

    // The blocks that a completed run still has to write no longer have an effect.
    let forgets_blocks = abstraction.history && state == StateKind::Completed;
    recorder.canon(forgets_blocks, abstraction, out);

    if abstraction.history {
        canon_calls(turn, state, abstraction, out);
    } else {
        json(transcript, out);
        json(&(id, ids, parent_run_id, resume, budget.usage()), out);
        json(&(beginnings, hop_state), out);
    }
}

/// Feeds the fields that no abstraction but that of time shortens.
fn canon_kept(turn: &Turn, abstraction: &Abstraction, out: &mut impl Hasher) {
    (
        turn.network.is_offline(),
        turn.clocks.paused_at().is_some(),
        turn.comeback.follows_cut(),
    )
        .hash(out);
    if !abstraction.time {
        turn.clocks.paused_at().hash(out);
    }
    json(
        &(
            &turn.steering,
            &(
                &turn.broken_stream,
                &turn.background,
                &turn.draft,
                turn.transcript.compaction(),
            ),
            &turn.window,
            &turn.typed,
            &turn.empty,
            turn.setup.options(),
            &turn.access,
            &turn.changed_request,
        ),
        out,
    );
    turn.access.given().is_some().hash(out);
    turn.access.kept().map(|kept| kept.0).hash(out);
    turn.route.canon(turn.clocks.now(), abstraction, out);
    turn.questions.canon(abstraction, out);
    (
        turn.hop,
        turn.budget.rounds(),
        turn.resume.len(),
        &turn.stopped_calls,
    )
        .hash(out);
    json(turn.budget.reached(), out);
    (turn.status as u8).hash(out);
    if !turn.presenter.is_empty() {
        json(&turn.presenter, out);
    }
}

fn canon_effects(
    effects: &Effects,
    durable: u64,
    abstraction: &Abstraction,
    out: &mut impl Hasher,
) {
    for (id, stage) in effects.iter() {
        abstraction.effect(id, durable).hash(out);
        match stage {
            EffectStage::Held { until } => (0u8, abstraction.number(until, durable)).hash(out),
            EffectStage::Queued => 1u8.hash(out),
            EffectStage::Given => 2u8.hash(out),
            EffectStage::Live => 3u8.hash(out),
            EffectStage::Deferred => 4u8.hash(out),
            EffectStage::Offline => 5u8.hash(out),
            EffectStage::Waiting => 6u8.hash(out),
        }
    }
    u8::MAX.hash(out);
}

fn canon_clocks(clocks: &Clocks, abstraction: &Abstraction, out: &mut impl Hasher) {
    for (timer, at) in clocks.timers() {
        timer.hash(out);
        if !abstraction.time {
            at.hash(out);
        }
    }
    u8::MAX.hash(out);
    clocks.turn_left().is_some().hash(out);
    if !abstraction.time {
        (clocks.now(), clocks.turn_left(), clocks.running_since()).hash(out);
    }
}

/// Feeds the parts of the calls and the answer that still matter to the run, instead of the complete conversation.
fn canon_calls(turn: &Turn, state: StateKind, abstraction: &Abstraction, out: &mut impl Hasher) {
    let Turn {
        transcript,
        recorder,
        hop,
        ..
    } = turn;
    if matches!(state, StateKind::Streaming | StateKind::Reviewing) {
        // The reason why the answer ended decides what follows.
        json(&transcript.summary().stop_reason, out);
    }
    for call in transcript.calls() {
        (call.key, &call.name).hash(out);
        if call.status.is_final() && abstraction.results {
            u8::MAX.hash(out);
            continue;
        }
        call.status.hash(out);
        (&call.edited, &call.changed).hash(out);
        json(&call.result, out);
        if let Some(asked) = transcript.tool_call(call) {
            asked.function.arguments.hash(out);
        }
    }
    let summary = transcript.summary();
    json(&(&summary.outcome, &summary.failure), out);
    // The answer's text decides whether it is the typed one.
    if turn.expects_output() {
        turn.answer_text().hash(out);
    }
    // The part of the stream that is not recorded yet.
    if state == StateKind::Streaming {
        recorder.canon_stream(&turn.stream_of(), out);
    }
    recorder.canon_usage(*hop, &summary.usage, out);
}
