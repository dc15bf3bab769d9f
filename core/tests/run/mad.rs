//! A host, a network, a store and a person that do anything at any time, though the host answers only what it was
//! given, and what it makes up it makes up whole. After every input the invariants are checked.

use crate::interrupts::{answer, asks};
use crate::wire::{Call, Say, a_call, body, call, text};
use crate::world::{config, offer};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    Block, Decision, Durability, Effect, EffectId, Input, LimitPolicy, Outcome, Output, Refusal,
    RunConfig, RunIds, RunMachine, Start, StateKind,
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
    prop::collection::vec(press, 0..80)
}

/// What the run is configured to.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    dialect: Dialect,
    stores: bool,
    creates_runs: bool,
    policy: u8,
    turn: bool,
}

pub fn settings() -> impl Strategy<Value = Setting> {
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        0..3u8,
        any::<bool>(),
    )
        .prop_map(|(ag_ui, stores, creates_runs, policy, turn)| Setting {
            dialect: if ag_ui {
                Dialect::AgUi
            } else {
                Dialect::OpenAiChat
            },
            stores,
            creates_runs,
            policy,
            turn,
        })
}

pub const ROUNDS: u32 = 2;

impl Setting {
    fn config(self) -> Arc<RunConfig> {
        let mut config = config(self.dialect);
        offer(&mut config, Tool::new("work", "Works."));
        offer(&mut config, Tool::new("look", "Looks.").idempotent());
        offer(&mut config, Tool::new("ask", "Asks.").requires_approval());
        config.limits.max_tool_rounds = ROUNDS;
        config.limits.at_limit = [LimitPolicy::Complete, LimitPolicy::Fail, LimitPolicy::SumUp]
            [usize::from(self.policy)];
        if self.stores {
            config.durability = Durability::Blocks { attempts: 2 };
        }
        if self.creates_runs {
            config.run_ids = RunIds::Host;
        }
        config.timeouts.turn = self.turn.then_some(Duration::from_secs(600));
        Arc::new(config)
    }
}

pub struct Mad {
    pub machine: RunMachine,
    config: Arc<RunConfig>,
    now: u64,
    /// What the host was given and has not answered; of a stream, what is left of its body.
    pub hands: BTreeMap<EffectId, Option<Vec<u8>>>,
    /// Every effect there ever was.
    known: Vec<EffectId>,
    /// The blocks that were ever to be written.
    blocks: BTreeMap<u64, Block>,
    pub outputs: Vec<Output>,
    pub resumes: u32,
    cancelled: bool,
    pub over: Option<(Outcome, Vec<Message>)>,
    pub tool_runs: Vec<CallKey>,
    pub checks: bool,
    pub restores: bool,
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
            known: Vec::new(),
            blocks: BTreeMap::new(),
            outputs: Vec::new(),
            resumes: 0,
            cancelled: false,
            over: None,
            tool_runs: Vec::new(),
            checks: true,
            restores: false,
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
            76..=85 => {
                if let Some(at) = self.machine.poll_timeout() {
                    self.now = self.now.max(at.0);
                }
                Input::Timeout
            }
            86..=93 => self.resume(press.detail),
            94 => Input::Cancel,
            95..=97 => Input::CancelCall {
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
            EffectId::CreateRun { hop } if !detail.is_multiple_of(4) => Input::RunCreated {
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
            EffectId::Persist { .. } if !detail.is_multiple_of(4) => Input::Persisted { effect },
            EffectId::Persist { .. } => Input::PersistFailed { effect, message },
            EffectId::Open { hop, .. } => self.network(effect, hop, detail),
            other => panic!("unknown: {other}"),
        }
    }

    fn network(&mut self, effect: EffectId, hop: u32, detail: u16) -> Input<'static> {
        let dialect = self.config.endpoint.dialect;
        let message = "the network is gone".to_owned();
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
                    *stream = Some(body(dialect, hop as usize, &says));
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

    fn feed(&mut self, input: Input<'static>) {
        let ends = input.effect().filter(|_| {
            !matches!(
                input,
                Input::Opened { .. } | Input::Received { .. } | Input::ToolDeferred { .. }
            )
        });
        let before = self.machine.snapshot();
        let is_cancel = matches!(input, Input::Cancel);
        let is_resume = matches!(input, Input::Resume(_));
        let result = self.machine.handle(input, Timestamp(self.now));
        match &result {
            Ok(()) => {
                self.cancelled |= is_cancel;
                self.resumes += u32::from(is_resume);
            }
            Err(_) => assert_eq!(self.machine.snapshot(), before, "a mistake changes nothing"),
        }
        if result.is_ok()
            && let Some(effect) = ends
        {
            self.hands.remove(&effect);
        }
        self.take_outputs();
        if self.restores {
            let snapshot = self.machine.snapshot();
            self.machine =
                RunMachine::restore(&snapshot, Arc::clone(&self.config)).expect("readable");
            assert_eq!(self.machine.snapshot(), snapshot);
        }
        if self.checks {
            self.check();
        }
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            if let Output::Effect(id, effect) = &output {
                self.given(*id, effect);
            }
            self.outputs.push(output);
        }
    }

    fn given(&mut self, id: EffectId, effect: &Effect) {
        match effect {
            Effect::CloseStream | Effect::CancelTool => {
                self.hands.remove(&id);
                return;
            }
            Effect::Persist { blocks, .. } => {
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
                assert!(!self.cancelled, "I12: no tool after a cancel");
                self.tool_runs.push(invocation.call);
            }
            Effect::OpenStream { .. } => assert!(!self.cancelled, "I12: no stream after a cancel"),
            _ => {}
        }
        let is_new = self.hands.insert(id, None).is_none();
        assert!(is_new, "{id} is given out while the host has it");
        self.known.push(id);
    }

    /// Answers all that is asked, as a good host would, until the run is quiet.
    pub fn calm_down(&mut self) {
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
    let common = match choice % 12 {
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
