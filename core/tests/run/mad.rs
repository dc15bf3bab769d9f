//! A host, a network, a store and a person that do anything at any time, though the host answers only what it was
//! given, and what it makes up it makes up whole. After every input the invariants are checked.

use crate::disk::Disk;
use crate::interrupts::{answer, asks};
use crate::wire::{Call, Say, a_call, body, call, numbered, text};
use crate::world::{config, offer};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::journal::JournalWriter;
use stepwell_core::run::{
    BackgroundPolicy, Block, ContextGuard, ContextPolicy, Decision, DevicePolicy, Durability,
    Effect, EffectId, Input, KilledPolicy, LimitPolicy, Misuse, NetworkChangePolicy, OfflinePolicy,
    Outcome, Output, Refusal, RunConfig, RunIds, RunMachine, Start, StateKind, TextOptions,
};
use stepwell_core::tool::{Tool, ToolFailure};
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

/// What the run is configured to.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    dialect: Dialect,
    stores: bool,
    creates_runs: bool,
    policy: u8,
    turn: bool,
    /// What the device's policies are, and whether the backend can resume.
    device: u8,
    partial: bool,
    /// How large the model's context window is, what happens at its end, and how text is shown.
    context: u8,
}

pub fn settings() -> impl Strategy<Value = Setting> {
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        0..3u8,
        any::<bool>(),
        any::<u8>(),
        any::<bool>(),
        any::<u8>(),
    )
        .prop_map(
            |(ag_ui, stores, creates_runs, policy, turn, device, partial, context)| Setting {
                dialect: if ag_ui {
                    Dialect::AgUi
                } else {
                    Dialect::OpenAiChat
                },
                stores,
                creates_runs,
                policy,
                turn,
                device,
                partial,
                context,
            },
        )
}

pub const ROUNDS: u32 = 2;

impl Setting {
    /// The same with a store.
    pub fn storing(mut self) -> Self {
        self.stores = true;
        self
    }

    /// The same in another wire format.
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    fn config(self) -> Arc<RunConfig> {
        let mut config = config(self.dialect);
        offer(&mut config, Tool::new("work", "Works."));
        offer(&mut config, Tool::new("look", "Looks.").idempotent());
        offer(&mut config, Tool::new("ask", "Asks.").requires_approval());
        config.limits.max_tool_rounds = ROUNDS;
        config.limits.max_parallel_tools = [8, 1, 2][usize::from(self.policy)];
        config.limits.at_limit = [LimitPolicy::Complete, LimitPolicy::Fail, LimitPolicy::SumUp]
            [usize::from(self.policy)];
        if self.stores {
            config.durability = Durability::Blocks { attempts: 2 };
        }
        if self.creates_runs {
            config.run_ids = RunIds::Host;
        }
        config.device = DevicePolicy {
            background: match self.device % 8 {
                0 => BackgroundPolicy::Cancel,
                1 | 2 => BackgroundPolicy::Continue,
                _ => BackgroundPolicy::PauseClocks,
            },
            offline: if (self.device / 8).is_multiple_of(8) {
                OfflinePolicy::Fail
            } else {
                OfflinePolicy::default()
            },
            network_change: if self.device.is_multiple_of(2) {
                NetworkChangePolicy::Keep
            } else {
                NetworkChangePolicy::Reopen
            },
            killed: if (self.device / 16).is_multiple_of(8) {
                KilledPolicy::Cancel
            } else {
                KilledPolicy::Continue
            },
        };
        config.endpoint.quirks.resumes_by_event_id = self.device / 128 == 1;
        config.partial_arguments = self.partial;
        config.context = ContextGuard {
            window: match self.context % 4 {
                0 | 1 => None,
                2 => Some(70),
                _ => Some(120),
            },
            at_limit: match self.context / 4 % 4 {
                0 => ContextPolicy::Fail,
                1 => ContextPolicy::Send,
                _ => ContextPolicy::Trim,
            },
            ..ContextGuard::default()
        };
        config.text = TextOptions {
            break_after_tools: self.context / 16 % 4 == 3,
            drop_blank: self.context / 64 == 3,
        };
        config.timeouts.turn = self.turn.then_some(Duration::from_secs(600));
        Arc::new(config)
    }
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
    pub resumes: u32,
    /// The messages that the person sent during the turn.
    pub steers: usize,
    pub cancelled: bool,
    pub over: Option<(Outcome, Vec<Message>)>,
    pub tool_runs: Vec<CallKey>,
    pub checks: bool,
    pub restores: bool,
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
            resumes: 0,
            steers: 0,
            cancelled: false,
            over: None,
            tool_runs: Vec::new(),
            checks: true,
            restores: false,
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

    /// The host dies, and another one takes over what it stored last.
    pub fn crash(&mut self) {
        if let Some(journal) = &mut self.journal {
            let snapshot = journal.snapshot(&self.machine);
            let config = Arc::clone(&self.config);
            let revived = journal.revive(&snapshot, &config, Timestamp(self.now));
            self.machine = revived.expect("readable");
            self.hands.clear();
            self.take_outputs();
        }
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

    fn start(&self) -> Input<'static> {
        Input::Start(Box::new(Start::new(
            "run-1",
            Message::user("user-1", "Hello"),
        )))
    }

    fn pick(&self, pick: u16) -> Option<EffectId> {
        let ids: Vec<_> = self.hands.keys().copied().collect();
        ids.get(usize::from(pick) % ids.len().max(1)).copied()
    }

    /// An answer that fits an effect in the host's hands.
    fn answer(&mut self, effect: EffectId, detail: u16) -> Input<'static> {
        let message = "it did not work".to_owned();
        match effect {
            EffectId::CreateRun { hop } if !detail.is_multiple_of(8) => Input::RunCreated {
                effect,
                run_id: format!("backend-{hop}").into(),
            },
            EffectId::CreateRun { .. } => Input::RunNotCreated { effect, message },
            EffectId::Approve(_) => {
                let edited = |arguments: &str| Decision::Edited {
                    arguments: arguments.to_owned(),
                };
                let decision = match detail % 9 {
                    0 | 3 => Decision::Denied { reason: None },
                    4 => edited("{}"),
                    5 => edited("no JSON"),
                    _ => Decision::Granted,
                };
                Input::Decided { effect, decision }
            }
            EffectId::Tool(_) if detail.is_multiple_of(7) => Input::ToolDeferred { effect },
            EffectId::Tool(_) => {
                let result = if !detail.is_multiple_of(3) {
                    Ok("a result".into())
                } else {
                    Err(ToolFailure::error(message))
                };
                Input::ToolFinished { effect, result }
            }
            EffectId::Persist { .. } if !detail.is_multiple_of(8) => Input::Persisted { effect },
            EffectId::Persist { .. } => Input::PersistFailed { effect, message },
            EffectId::Trim { .. } if detail.is_multiple_of(8) => {
                Input::ContextNotTrimmed { effect, message }
            }
            EffectId::Trim { .. } => {
                let messages = self.machine.conversation().messages().iter();
                let wanted = |at: &usize| detail >> (at % 16) & 1 == 0;
                let keep = messages.enumerate().filter(|(at, _)| wanted(at));
                Input::ContextTrimmed {
                    effect,
                    keep: keep.map(|(_, message)| message.id().clone()).collect(),
                    summary: detail.is_multiple_of(3).then(|| "They talked.".to_owned()),
                }
            }
            EffectId::Open { hop, .. } => self.network(effect, hop, detail),
            other => panic!("unknown: {other}"),
        }
    }

    fn network(&mut self, effect: EffectId, hop: u32, detail: u16) -> Input<'static> {
        let dialect = self.config.endpoint.dialect;
        let message = "the network is gone".to_owned();
        let can_resume = self.config.endpoint.quirks.resumes_by_event_id;
        match self.hands.get_mut(&effect).expect("it is in the hands") {
            stream @ None => match detail % 8 {
                0 => Input::ConnectionFailed { effect, message },
                1 => Input::Refused {
                    effect,
                    refusal: Refusal {
                        status: 503,
                        ..Refusal::default()
                    },
                },
                2 if detail % 16 == 2 => Input::Refused {
                    effect,
                    refusal: Refusal {
                        status: 400,
                        ..Refusal::default()
                    },
                },
                _ => {
                    let says = says(dialect, detail / 8);
                    *stream = Some(match self.resumes_after.get(&effect) {
                        Some(after) => self.streams[&hop][*after..].concat().into_bytes(),
                        None if can_resume => {
                            let frames = numbered(dialect, hop as usize, &says);
                            let body = frames.concat().into_bytes();
                            self.streams.insert(hop, frames);
                            body
                        }
                        None => body(dialect, hop as usize, &says),
                    });
                    Input::Opened {
                        effect,
                        content_type: None,
                    }
                }
            },
            Some(rest) if rest.is_empty() || detail.is_multiple_of(32) => {
                if detail % 8 == 1 {
                    Input::Lost { effect, message }
                } else {
                    Input::Ended { effect }
                }
            }
            Some(rest) => {
                let size = (usize::from(detail) % 400 + 1).min(rest.len());
                let bytes: Vec<u8> = rest.drain(..size).collect();
                Input::Received {
                    effect,
                    bytes: bytes.into(),
                }
            }
        }
    }

    /// An answer to something that was asked once, or never.
    fn stale(&mut self, press: Press) -> Input<'static> {
        let known = self
            .known
            .get(usize::from(press.pick) % self.known.len().max(1))
            .copied();
        let call = CallKey {
            hop: u32::from(press.pick % 3),
            index: u32::from(press.pick % 4),
        };
        let effect = known.unwrap_or(EffectId::Tool(call));
        match (effect, press.detail % 3) {
            _ if self.hands.contains_key(&effect) => Input::Timeout,
            (EffectId::Open { .. }, 0) => Input::Opened {
                effect,
                content_type: None,
            },
            (EffectId::Open { .. }, 1) => Input::Received {
                effect,
                bytes: b"data: {}\n\n"[..].into(),
            },
            (EffectId::Open { .. }, _) => Input::Ended { effect },
            (effect, _) => self.answer(effect, press.detail),
        }
    }

    fn resume(&self, detail: u16) -> Input<'static> {
        let mut answers: Vec<_> = self
            .machine
            .interrupts()
            .iter()
            .map(|interrupt| answer(&interrupt.id))
            .collect();
        match detail % 8 {
            0 => answers.push(answer("nobody")),
            1 => drop(answers.pop()),
            2 => answers.extend(answers.clone()),
            _ => {}
        }
        Input::Resume(answers)
    }

    /// The person types; now and then with an id that is known, or as somebody else.
    fn steer(&self, detail: u16) -> Input<'static> {
        let id = format!(
            "steer-{}",
            self.steers
                .saturating_sub(usize::from(detail.is_multiple_of(8)))
        );
        Input::Steer(Box::new(match detail % 16 {
            1 => Message::user("user-1", "Twice"),
            2 => Message::Tool(Default::default()),
            _ => Message::user(id, "And"),
        }))
    }

    fn feed(&mut self, input: Input<'static>) {
        let ends = input.effect().filter(|_| {
            !matches!(
                input,
                Input::Opened { .. } | Input::Received { .. } | Input::ToolDeferred { .. }
            )
        });
        self.disk.answered(&input);
        let before = self.machine.snapshot();
        let is_dispose = matches!(input, Input::Dispose);
        let is_cancel = matches!(input, Input::Cancel);
        let is_steer = matches!(input, Input::Steer(_));
        let is_resume = matches!(input, Input::Resume(_));
        let now = Timestamp(self.now);
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

    /// Nothing is left in the old host's hands but a write, which it carries to its end; a new host goes on.
    fn go_on_elsewhere(&mut self, before: &str) {
        let snapshot: serde_json::Value = serde_json::from_str(before).expect("JSON");
        let pending: Vec<(EffectId, serde_json::Value)> =
            serde_json::from_value(snapshot["run"]["core"]["pending"].clone()).expect("pairs");
        let is_deferred = |id: &EffectId| pending.contains(&(*id, "deferred".into()));
        for id in self.hands.keys() {
            assert!(
                matches!(
                    id,
                    EffectId::Persist { .. } | EffectId::CreateRun { .. } | EffectId::Trim { .. }
                ) || is_deferred(id),
                "{id} was not stopped"
            );
        }
        assert_eq!(self.machine.poll_timeout(), None);
        if before.contains(r#""steering":[]"#) {
            assert_eq!(self.machine.snapshot(), before);
        }
        let now = Timestamp(self.now);
        let late = match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, Input::Cancel, now),
            None => self.machine.handle(Input::Cancel, now),
        };
        assert_eq!(late, Err(Misuse::Disposed { input: "Cancel" }));
        self.disk.crash(true);
        // What was deferred comes to whoever has the run.
        self.hands.retain(|id, _| is_deferred(id));
        // An idempotent tool may run again elsewhere.
        let calls = self.machine.conversation().calls();
        let again: Vec<_> = calls.iter().filter(|call| call.name == "look").collect();
        self.tool_runs
            .retain(|run| again.iter().all(|call| call.key != *run));
        let now = Timestamp(self.now);
        self.take_outputs();
        let config = Arc::clone(&self.config);
        let revived = match &mut self.journal {
            Some(journal) => {
                let snapshot = journal.snapshot(&self.machine);
                journal.revive(&snapshot, &config, now)
            }
            None => RunMachine::revive(&self.machine.snapshot(), config, now),
        };
        self.machine = revived.expect("readable");
        self.take_outputs();
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
                if let Some((_, last)) = header {
                    let last = last.parse().expect("the ids are numbers");
                    self.resumes_after.insert(id, last);
                }
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

/// Some of the things that a model may say.
fn says(dialect: Dialect, choice: u16) -> Vec<Say> {
    let bare = Say::Call(Call {
        id: "bare".into(),
        name: "work".into(),
        pieces: Vec::new(),
    });
    let two = Say::Calls(vec![a_call("a", "work", "{}"), a_call("b", "ask", "null")]);
    // Calls weigh more: without them a run is soon over.
    let common = match [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2, 3, 11, 2, 3, 11, 5,
    ][usize::from(choice % 20)]
    {
        0 | 1 => vec![text("Some text.")],
        2 => vec![text("Let me see."), call("c", "work", "{}")],
        3 => vec![
            two,
            Say::Usage {
                input: 3,
                output: 2,
            },
        ],
        4 => vec![text("An answer, whole.")],
        5 => vec![call("c", "invented", "{}"), bare],
        6 => vec![text("Half"), call("c", "look", "{\"a\""), Say::Cut],
        7 => vec![
            Say::Reasoning("Hm.".into()),
            text("Oh"),
            Say::Error("overloaded".into()),
        ],
        8 => vec![Say::Heartbeat, Say::Cut],
        9 => vec![text("x"), Say::Raw("data: {oops\n\n".into())],
        10 => vec![call("c", "look", "[1,"), call("d", "ask", "{}")],
        11 => vec![call("c", "look", "{}"), call("d", "work", "{}")],
        _ => vec![Say::Raw("<html>".into()), Say::Cut],
    };
    match (dialect, choice % 5, choice % 12) {
        (Dialect::AgUi, 0, 2) => vec![text("Which?"), call("c", "work", "{}"), asks(&["q", "r"])],
        (Dialect::AgUi, 0, 0) => vec![asks(&["q"])],
        (Dialect::AgUi, 1, 2) => vec![
            call("c", "work", "{}"),
            Say::Answer {
                call: "c".into(),
                content: "theirs".into(),
            },
            text("after"),
        ],
        (Dialect::AgUi, 2, 3) => vec![Say::OpenCall(a_call("c", "work", "{"))],
        _ => common,
    }
}
