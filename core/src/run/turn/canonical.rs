//! The canonical form of a run: two runs of one form have the same future. All of the checker's abstractions stand
//! here and in the files of this name in `parts`, and nowhere else.

use super::Turn;
use crate::run::abstraction::{Abstraction, json};
use crate::run::protocol::EffectStage;
use crate::run::protocol::StateKind;
use serde::Serialize;
use std::hash::{Hash, Hasher};

impl Turn {
    /// How many blocks are stored.
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
        config,
        options,
        conversation,
        id,
        ids,
        parent_run_id,
        hop,
        resume,
        effects,
        clocks,
        recorder,
        presenter,
        budget,
        network,
        access,
        window,
        steering,
        typed,
        empty,
        questions,
        changed_request,
        beginnings,
        hop_state,
        status,
        stopped_calls,
        broken_stream,
        follows_cut,
        // Only while a stored run comes back.
        is_of_another_dialect: _,
        // Made of the configuration.
        offer: _,
    } = turn;
    (
        network.is_offline(),
        network.uncounted(),
        clocks.paused_at().is_some(),
        follows_cut,
    )
        .hash(out);
    if !abstraction.time {
        clocks.paused_at().hash(out);
    }
    json(
        &(
            steering,
            broken_stream,
            window,
            typed,
            empty,
            options,
            access,
            changed_request,
        ),
        out,
    );
    access.given().is_some().hash(out);
    questions.canon(abstraction, out);
    (hop, budget.rounds(), resume.len(), stopped_calls).hash(out);
    json(budget.reached(), out);
    (*status as u8).hash(out);
    if !presenter.is_empty() {
        json(presenter, out);
    }

    let durable = recorder.durable();
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
    // What was spent decides nothing where there is no limit on it.
    budget.canon(&config.limits, abstraction, out);

    // What a run that is over still has to write changes nothing any more.
    let forgets_blocks = abstraction.history && state == StateKind::Completed;
    recorder.canon(forgets_blocks, abstraction, out);

    if !abstraction.history {
        json(conversation, out);
        json(&(id, ids, parent_run_id, resume, budget.usage()), out);
        json(&(beginnings, hop_state), out);
        return;
    }
    for call in conversation.calls() {
        (call.key, &call.name).hash(out);
        if call.status.is_final() && abstraction.results {
            u8::MAX.hash(out);
            continue;
        }
        call.status.hash(out);
        (&call.edited, &call.changed).hash(out);
        json(&call.result, out);
        if let Some(asked) = conversation.tool_call(call) {
            asked.function.arguments.hash(out);
        }
    }
    let summary = conversation.summary();
    json(&(&summary.outcome, &summary.failure), out);
    // What the answer says decides whether it is the typed one.
    if turn.expects_output() {
        turn.answer_text().hash(out);
    }
    // What is still to be recorded.
    if state == StateKind::Streaming {
        recorder.canon_stream(&turn.stream_of(), out);
    }
    recorder.canon_usage(*hop, &summary.usage, out);
}
