//! The canonical form of a run: two runs of one form have the same future. All of the checker's abstractions stand
//! here, and nowhere else.

use super::super::block::{Block, BlockContent};
use super::super::core::Core;
use super::super::edges::StateKind;
use super::super::effect::EffectId;
use super::super::erased::AnyRun;
use super::super::machine::RunMachine;
use super::super::pending::Stage;
use super::super::recorder::Recorder;
use super::super::typed::{Run, State};
use super::in_any_state;
use crate::event::Message;
use serde::Serialize;
use std::hash::{Hash, Hasher};
use std::io;

/// What the canonical form leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abstraction {
    /// When the timers are due, and what time it is. Any timer may then fire at any moment.
    pub time: bool,
    /// How many blocks are stored: sequence numbers count from there.
    pub numbers: bool,
    /// What was said in hops that are over, the texts of blocks, and how much was recorded.
    pub history: bool,
    /// What came of calls that are done, until the next hop's request is made of it.
    pub results: bool,
}

impl Abstraction {
    /// Leaves out all that it may.
    pub const ALL: Self = Self {
        time: true,
        numbers: true,
        history: true,
        results: true,
    };

    /// Leaves out nothing.
    pub const NONE: Self = Self {
        time: false,
        numbers: false,
        history: false,
        results: false,
    };

    /// An effect's id, with a write's number counted from what is stored.
    #[must_use]
    pub fn effect(&self, id: EffectId, durable: u64) -> EffectId {
        match id {
            EffectId::Persist { sequence } => EffectId::Persist {
                sequence: self.number(sequence, durable),
            },
            id => id,
        }
    }

    /// A sequence number, counted from what is stored.
    #[must_use]
    pub fn number(&self, number: u64, durable: u64) -> u64 {
        if self.numbers {
            number.wrapping_sub(durable)
        } else {
            number
        }
    }
}

impl RunMachine {
    /// Feeds the canonical form to a hasher.
    pub fn canon(&self, abstraction: &Abstraction, out: &mut impl Hasher) {
        in_any_state!(&self.run, run => canon_run(run, abstraction, out), ());
    }
}

fn canon_run<S: State>(run: &Run<S>, abstraction: &Abstraction, out: &mut impl Hasher) {
    S::KIND.hash(out);
    // No state keeps a number of a block; the only time is that of a `Retry-After`, which no peer here sends.
    json(&run.state, out);
    canon_core(&run.core, S::KIND, abstraction, out);
}

fn canon_core(core: &Core, state: StateKind, abstraction: &Abstraction, out: &mut impl Hasher) {
    // Every field is named, so that a new one makes its author decide.
    let Core {
        config: _,
        conversation,
        turn,
        ids,
        parent_run_id,
        hop,
        rounds,
        reached,
        resume,
        usage,
        pending,
        timers,
        recorder,
        outbox,
        anchor,
        turn_left,
        clock,
        status,
        spent,
        running_since,
        stopped_calls,
        steering,
        device,
        resumption,
        hop_anchor,
        hop_state,
        context,
        // Only while a stored run comes back.
        is_of_another_dialect: _,
        // Made of the configuration.
        offer: _,
        follows_cut,
    } = core;
    (
        device.is_offline,
        device.uncounted,
        device.paused_at.is_some(),
        follows_cut,
    )
        .hash(out);
    if !abstraction.time {
        device.paused_at.hash(out);
    }
    json(&(steering, resumption, context), out);
    (hop, rounds, resume.len(), stopped_calls).hash(out);
    json(reached, out);
    (*status as u8).hash(out);
    if !outbox.is_empty() {
        json(outbox, out);
    }

    let durable = recorder.durable;
    for (id, stage) in pending.iter() {
        abstraction.effect(id, durable).hash(out);
        match stage {
            Stage::Held { until } => (0u8, abstraction.number(until, durable)).hash(out),
            Stage::Queued => 1u8.hash(out),
            Stage::Given => 2u8.hash(out),
            Stage::Live => 3u8.hash(out),
            Stage::Deferred => 4u8.hash(out),
            Stage::Offline => 5u8.hash(out),
            Stage::Waiting => 6u8.hash(out),
        }
    }
    u8::MAX.hash(out);

    for (timer, at) in timers.iter() {
        timer.hash(out);
        if !abstraction.time {
            at.hash(out);
        }
    }
    u8::MAX.hash(out);
    turn_left.is_some().hash(out);
    if !abstraction.time {
        (clock, turn_left, running_since, spent.time).hash(out);
    }
    // What was spent decides nothing where there is no limit on it.
    let limits = &core.config.limits;
    if limits.max_tool_calls.is_some() || !abstraction.history {
        spent.calls.hash(out);
    }
    if limits.repeats.is_some() || !abstraction.history {
        json(&(&spent.repeats, spent.last), out);
    }
    if limits.max_tokens.is_some() {
        json(usage, out);
    }

    // What a run that is over still has to write changes nothing any more.
    let forgets_blocks = abstraction.history && state == StateKind::Completed;
    canon_recorder(recorder, forgets_blocks, abstraction, out);

    if !abstraction.history {
        json(conversation, out);
        json(&(turn, ids, parent_run_id, resume, usage), out);
        json(&(anchor, hop_anchor, hop_state), out);
        return;
    }
    for call in conversation.calls() {
        (call.key, &call.name).hash(out);
        if call.status.is_final() && abstraction.results {
            u8::MAX.hash(out);
            continue;
        }
        call.status.hash(out);
        call.edited.hash(out);
        json(&call.result, out);
        if let Some(asked) = conversation.tool_call(call) {
            asked.function.arguments.hash(out);
        }
    }
    let summary = conversation.summary();
    json(&(&summary.outcome, &summary.failure), out);
    // What is still to be recorded.
    if recorder.attempts.is_some() && state == StateKind::Streaming {
        let messages = core.conversation.messages();
        for message in messages.get(core.stream_start()..).unwrap_or_default() {
            let length = match message {
                Message::Assistant(message) => message.content.as_deref().map_or(0, str::len),
                Message::Reasoning(message) => message.content.len(),
                _ => 0,
            };
            let id = message.id();
            let done = recorder.recorded.iter().find(|entry| entry.0 == *id);
            let left = length - done.map_or(0, |entry| entry.1).min(length);
            (done.is_some(), left).hash(out);
        }
    }
    let counted = recorder.counted;
    (
        counted.is_some(),
        counted == Some(*hop),
        summary.usage.is_empty(),
    )
        .hash(out);
}

fn canon_recorder(
    recorder: &Recorder,
    forgets_blocks: bool,
    abstraction: &Abstraction,
    out: &mut impl Hasher,
) {
    let Recorder {
        attempts: _,
        next,
        durable,
        queued,
        in_flight,
        failures,
        recorded,
        marks,
        touched,
        rewritten,
        state_changed,
        counted,
        closing,
        is_last,
    } = recorder;
    (failures, closing, is_last).hash(out);
    json(&(touched, rewritten, state_changed), out);
    if !forgets_blocks {
        abstraction.number(*next, *durable).hash(out);
    }
    if !abstraction.numbers {
        durable.hash(out);
    }
    for blocks in [queued, in_flight] {
        blocks.is_empty().hash(out);
        for block in blocks.iter().filter(|_| !forgets_blocks) {
            canon_block(block, *durable, abstraction, out);
        }
        u8::MAX.hash(out);
    }
    if !abstraction.history {
        json(&(recorded, marks, counted), out);
    }
}

fn canon_block(block: &Block, durable: u64, abstraction: &Abstraction, out: &mut impl Hasher) {
    abstraction.number(block.sequence, durable).hash(out);
    block.hop.hash(out);
    if !abstraction.history {
        return json(&block.content, out);
    }
    // A write goes to the host as it is: its contents decide nothing.
    match &block.content {
        BlockContent::Message { .. } => 8u8.hash(out),
        BlockContent::Messages { .. } => 9u8.hash(out),
        BlockContent::State { .. } => 10u8.hash(out),
        BlockContent::Usage { .. } => 11u8.hash(out),
        BlockContent::Text { .. } => 0u8.hash(out),
        BlockContent::Reasoning { .. } => 1u8.hash(out),
        BlockContent::ToolUse { call, .. } => (2u8, call).hash(out),
        BlockContent::Approval { call, .. } => (3u8, call).hash(out),
        BlockContent::ToolResult { call, .. } => (4u8, call).hash(out),
        BlockContent::Steering { .. } => 6u8.hash(out),
        BlockContent::Resumed { .. } => 7u8.hash(out),
        BlockContent::Deferred { call } => (5u8, call).hash(out),
    }
}

/// Hashes what serde makes of a value.
fn json(value: &impl Serialize, out: &mut impl Hasher) {
    struct Sink<'a, H>(&'a mut H);
    impl<H: Hasher> io::Write for Sink<'_, H> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let written = serde_json::to_writer(Sink(out), value);
    debug_assert!(written.is_ok(), "every part of a run can be serialised");
    u8::MAX.hash(out);
}
