//! A host, a network, a store and a user that do anything at any time, though the host answers only what it was
//! given, and what it makes up it makes up whole. After every input the invariants are checked.

mod answers;
mod checks;
mod elsewhere;
mod model;
mod setting;

use crate::disk::Disk;
use proptest::prelude::*;
pub use setting::{Setting, settings};
use std::collections::BTreeMap;
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::Message;
use stepwell_core::journal::JournalWriter;
use stepwell_core::run::{
    Block, Effect, EffectId, Input, Outcome, Output, RunConfig, RunMachine, StateKind,
};
use stepwell_core::{CallKey, Timestamp};

/// One thing that happens; the numbers choose what exactly.
#[derive(Clone, Copy, Debug)]
pub struct Press {
    kind: u8,
    pick: u16,
    detail: u16,
}

pub fn presses() -> impl Strategy<Value = Vec<Press>> {
    let press = (0..100u8, any::<u16>(), any::<u16>()).prop_map(|(kind, pick, detail)| Press {
        kind,
        pick,
        detail,
    });
    prop::collection::vec(press, 0..150)
}

pub struct Mad {
    pub machine: RunMachine,
    pub config: Arc<RunConfig>,
    pub now: u64,
    /// What the host was given and has not answered; of a stream, what is left of its body.
    pub hands: BTreeMap<EffectId, Option<Vec<u8>>>,
    /// What each hop's stream says, frame by frame, where the backend can resume it.
    streams: BTreeMap<u32, Vec<String>>,
    /// After which of its frames a stream is to go on.
    resumes_after: BTreeMap<EffectId, usize>,
    /// Every effect there ever was.
    known: Vec<EffectId>,
    /// The blocks that were ever to be written.
    pub blocks: BTreeMap<u64, Block>,
    /// What the store has, and what it is asked to take.
    pub disk: Disk,
    pub outputs: Vec<Output>,
    /// So many of them were there when the host came to life.
    pub born: usize,
    pub resumes: u32,
    /// The answers that the host's death has cut.
    cuts: u32,
    /// The messages that the user sent during the turn.
    pub steers: usize,
    pub cancelled: bool,
    pub over: Option<(Outcome, Vec<Message>)>,
    pub tool_runs: Vec<CallKey>,
    pub checks: bool,
    pub restores: bool,
    /// Whether a clone is told the same, and comes to the same.
    pub has_twin: bool,
    pub journal: Option<JournalWriter>,
}

impl Mad {
    pub fn new(setting: Setting) -> Self {
        let config = setting.config();
        Self {
            machine: RunMachine::new(
                Arc::clone(&config),
                "thread".into(),
                Conversation::default(),
            ),
            config,
            now: 1_000,
            hands: BTreeMap::new(),
            streams: BTreeMap::new(),
            resumes_after: BTreeMap::new(),
            known: Vec::new(),
            blocks: BTreeMap::new(),
            disk: Disk::default(),
            outputs: Vec::new(),
            born: 0,
            resumes: 0,
            cuts: 0,
            steers: 0,
            cancelled: false,
            over: None,
            tool_runs: Vec::new(),
            checks: true,
            restores: false,
            has_twin: false,
            journal: None,
        }
    }

    /// Writes a journal from here on; the run has not begun.
    pub fn journaled(mut self) -> Self {
        let history = Conversation::default();
        let journal = JournalWriter::new(&self.config, &"thread".into(), &history);
        self.journal = Some(journal);
        self
    }

    pub fn press(&mut self, press: Press) {
        self.now += u64::from(press.detail % 7);
        let input = match press.kind {
            0..=3 => self.start(),
            4..=63 => match self.pick(press.pick) {
                Some(effect) => self.answer(effect, press.detail),
                None => self.start(),
            },
            64..=75 => self.stale(press),
            76..=83 | 85 => {
                if let Some(at) = self.machine.poll_timeout() {
                    self.now = self.now.max(at.0);
                }
                Input::Timeout
            }
            86 | 88..=93 => self.resume(press.detail),
            94 => Input::Cancel,
            84 | 98 | 99 => [
                Input::EnteredBackground,
                Input::EnteredForeground,
                Input::NetworkLost,
                Input::NetworkAvailable,
            ][usize::from(press.pick % 4)]
            .clone(),
            96 | 97 => self.steer(press.detail),
            95 if press.pick.is_multiple_of(4) => Input::Dispose,
            95 | 87 => Input::CancelCall {
                call: CallKey {
                    hop: self.machine.hop(),
                    index: u32::from(press.pick % 4),
                },
            },
            _ => Input::Timeout,
        };
        self.feed(input);
    }

    fn feed(&mut self, input: Input<'static>) {
        let ends = input.effect().filter(|_| {
            !matches!(
                input,
                Input::Opened { .. }
                    | Input::Received { .. }
                    | Input::ToolDeferred { .. }
                    | Input::ToolProgress { .. }
                    | Input::ToolPartialResult { .. }
                    | Input::ToolAsks { .. }
            )
        });
        self.disk.answered(&input);
        let before = self.machine.snapshot();
        let is_dispose = matches!(input, Input::Dispose);
        let is_cancel = matches!(input, Input::Cancel);
        let is_steer = matches!(input, Input::Steer(_));
        let is_resume = matches!(input, Input::Resume(_));
        let now = Timestamp(self.now);
        let twin = self.has_twin.then(|| {
            let mut twin = self.machine.clone();
            assert_eq!(twin.canonical(), self.machine.canonical());
            let told = twin.handle(input.clone(), now);
            let outputs: Vec<_> = std::iter::from_fn(|| twin.poll_output()).collect();
            (twin, told, outputs)
        });
        let known = self.outputs.len();
        let result = match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, input, now),
            None => self.machine.handle(input, now),
        };
        match &result {
            Ok(()) => {
                self.cancelled |= is_cancel;
                self.resumes += u32::from(is_resume);
                self.steers += usize::from(is_steer);
            }
            Err(_) => assert_eq!(self.machine.snapshot(), before, "a mistake changes nothing"),
        }
        if result.is_ok()
            && let Some(effect) = ends
        {
            self.hands.remove(&effect);
        }
        self.take_outputs();
        if let Some((twin, told, outputs)) = twin {
            assert_eq!(told, result);
            assert_eq!(outputs, self.outputs[known..]);
            assert_eq!(twin.canonical(), self.machine.canonical());
        }
        if is_dispose {
            self.go_on_elsewhere(&before);
        }
        if self.restores {
            let snapshot = self.machine.snapshot();
            let config = Arc::clone(&self.config);
            let restored = match &mut self.journal {
                Some(journal) => {
                    let taken = journal.snapshot(&self.machine);
                    journal.restore(&taken, &config, now)
                }
                None => RunMachine::restore(&snapshot, config),
            };
            self.machine = restored.expect("readable");
            assert_eq!(self.machine.snapshot(), snapshot);
            self.take_outputs();
        }
        if self.checks {
            self.check();
        }
    }

    pub fn take_outputs(&mut self) {
        while let Some(output) = self.next_output() {
            if let Output::Effect(id, effect) = &output {
                self.given(*id, effect);
            }
            self.outputs.push(output);
        }
    }

    fn next_output(&mut self) -> Option<Output> {
        match &mut self.journal {
            Some(journal) => journal.poll_output(&mut self.machine),
            None => self.machine.poll_output(),
        }
    }

    fn given(&mut self, id: EffectId, effect: &Effect) {
        match effect {
            Effect::CloseStream | Effect::CancelTool => {
                self.hands.remove(&id);
                return;
            }
            Effect::Persist {
                blocks, snapshot, ..
            } => {
                self.disk.asked(id, blocks, snapshot);
                for block in blocks {
                    // I6: no gap, and no number for two contents.
                    assert!(block.sequence <= self.blocks.len() as u64);
                    let known = self
                        .blocks
                        .entry(block.sequence)
                        .or_insert_with(|| block.clone());
                    assert_eq!(known, block);
                }
            }
            Effect::RunTool { invocation } => {
                self.disk.used_by_tool(invocation.call);
                assert!(!self.cancelled, "I12: no tool after a cancel");
                self.tool_runs.push(invocation.call);
            }
            Effect::OpenStream { request } => {
                self.disk.used_by_stream(id);
                assert!(!self.cancelled, "I12: no stream after a cancel");
                let header = request
                    .headers
                    .iter()
                    .find(|(name, _)| name == "last-event-id");
                // After a crash the ids come again.
                self.resumes_after.remove(&id);
                if let Some((_, last)) = header {
                    let last = last.parse().expect("the ids are numbers");
                    self.resumes_after.insert(id, last);
                }
            }
            Effect::AnswerTool { .. } => {
                self.disk.used_by_answer(id);
                return;
            }
            _ => {}
        }
        let is_new = self.hands.insert(id, None).is_none();
        assert!(is_new, "{id} is given out while the host has it");
        self.known.push(id);
    }

    /// Answers all that is asked, as a good host would, until the run is quiet.
    pub fn calm_down(&mut self) {
        self.feed(Input::EnteredForeground);
        self.feed(Input::NetworkAvailable);
        for round in 0..2_000 {
            if let Some(effect) = self.pick(0) {
                let detail = if matches!(effect, EffectId::Open { .. }) {
                    4 * 8 + 7
                } else {
                    1
                };
                let input = self.answer(effect, detail);
                self.feed(input);
            } else if self.machine.state() == StateKind::Interrupted {
                let input = self.resume(7);
                self.feed(input);
            } else if let Some(at) = self.machine.poll_timeout() {
                self.now = self.now.max(at.0);
                self.feed(Input::Timeout);
            } else {
                return;
            }
            assert!(round < 1_999, "not quiet in {}", self.machine.state());
        }
    }
}
