//! Snapshots of runs at moments of every kind: who reads one goes on as the run would have, and another host brings
//! the turn to its end.

use crate::interrupts::answer;
use crate::snapshot_scenes::{Scene, scenes};
use crate::turn::BOTH;
use crate::world::World;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    Authorization, Decision, EDGES, Effect, EffectId, EffectStage, HookAnswer, Input, Output,
    RunMachine, Start, StateKind, UserAnswer,
};
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{body, text};

/// A host that carries out everything well, without any world around it.
pub(crate) struct Calm {
    pub(crate) machine: RunMachine,
    dialect: Dialect,
    now: u64,
    /// What it carries out: whether it is a stream that is open, and what is to come of its body.
    hands: BTreeMap<EffectId, (bool, Vec<u8>)>,
}

impl Calm {
    pub(crate) fn new(dialect: Dialect, now: u64, machine: RunMachine) -> Self {
        Self {
            machine,
            dialect,
            now,
            hands: BTreeMap::new(),
        }
    }

    /// Takes over what the run says that its host has.
    pub(crate) fn take_pending(&mut self) {
        for (id, stage) in self.machine.pending_effects() {
            let is_open = stage == EffectStage::Live;
            if is_open || matches!(stage, EffectStage::Given | EffectStage::Deferred) {
                self.hands.insert(id, (is_open, Vec::new()));
            }
        }
    }

    pub(crate) fn take_outputs(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            let Output::Effect(id, effect) = output else {
                continue;
            };
            match effect {
                Effect::CloseStream | Effect::CancelTool => drop(self.hands.remove(&id)),
                Effect::OpenStream { .. } => {
                    let EffectId::Open { hop, .. } = id else {
                        panic!("{id} opens no stream")
                    };
                    let body = body(self.dialect, hop as usize, &[text("Done.")]);
                    self.hands.insert(id, (false, body));
                }
                _ => drop(self.hands.insert(id, (false, Vec::new()))),
            }
        }
    }

    pub(crate) fn feed(&mut self, input: Input<'static>) {
        self.now += 1;
        let told = self.machine.handle(input, Timestamp(self.now));
        told.expect("a calm host makes no mistakes");
        self.take_outputs();
    }

    fn answer(&mut self, effect: EffectId) {
        let (open, rest) = self.hands.remove(&effect).expect("it is in the hands");
        match effect {
            EffectId::Open { .. } if !open => {
                self.hands.insert(effect, (true, rest));
                let content_type = Some("text/event-stream".to_owned());
                self.feed(Input::Opened {
                    effect,
                    content_type,
                });
            }
            EffectId::Open { .. } if !rest.is_empty() => {
                self.hands.insert(effect, (true, Vec::new()));
                let bytes = rest.into();
                self.feed(Input::Received { effect, bytes });
            }
            EffectId::Open { .. } => self.feed(Input::Ended { effect }),
            EffectId::CreateRun { hop } => {
                let run_id = format!("created-{hop}").into();
                self.feed(Input::RunCreated { effect, run_id });
            }
            EffectId::Approve(_) => {
                let decision = Decision::Granted;
                self.feed(Input::Decided { effect, decision });
            }
            EffectId::Tool(_) => {
                let result = Ok("a result".into());
                self.feed(Input::ToolFinished { effect, result });
            }
            EffectId::Output { .. } => self.feed(Input::OutputDecoded { effect }),
            EffectId::Hook { .. } => {
                let answer = HookAnswer::GoOn;
                self.feed(Input::HookAnswered { effect, answer });
            }
            EffectId::Persist { .. } => self.feed(Input::Persisted { effect }),
            EffectId::Ask { .. } => {
                let answer = UserAnswer::declined("no");
                self.feed(Input::UserAnswered { effect, answer });
            }
            EffectId::Authorize { .. } => {
                let authorization = Authorization::default();
                self.feed(Input::Authorized {
                    effect,
                    authorization,
                });
            }
            EffectId::ChooseModel { .. } => self.feed(Input::ModelChosen { effect, model: 0 }),
            EffectId::Trim { .. } => {
                let message = "all of it counts".to_owned();
                self.feed(Input::ContextNotTrimmed { effect, message });
            }
        }
    }

    /// Answers all that is asked until nothing is left, and says how it ended.
    pub(crate) fn end(mut self) -> Value {
        self.take_outputs();
        if self.machine.state() == StateKind::Idle {
            let message = stepwell_core::event::Message::user("user-1", "Go on");
            self.feed(Input::Start(Box::new(Start::new("run-1", message))));
        }
        for _ in 0..1_000 {
            if let Some(effect) = self.hands.keys().next().copied() {
                self.answer(effect);
            } else if self.machine.state() == StateKind::Interrupted {
                let interrupts = self.machine.interrupts().iter();
                let answers = interrupts.map(|interrupt| answer(&interrupt.id)).collect();
                self.feed(Input::Resume(answers));
            } else if let Some(at) = self.machine.poll_timeout() {
                self.now = self.now.max(at.0);
                self.feed(Input::Timeout);
            } else {
                break;
            }
        }
        let outcome = self.machine.outcome();
        let outcome = outcome.expect("a run that is answered comes to its end");
        let transcript = self.machine.transcript();
        json!({
            "outcome": outcome,
            "text": transcript.text(),
            "messages": transcript.messages(),
            "state": transcript.shared_state(),
            "usage": self.machine.usage(),
        })
    }
}

/// What the host of the scene has in its hands.
fn hands(world: &World) -> BTreeMap<EffectId, (bool, Vec<u8>)> {
    let held = |id: &EffectId| {
        let inputs = || world.scheduled.values();
        let opens =
            |input: &Input<'_>| matches!(input, Input::Opened { effect, .. } if effect == id);
        let is_open = matches!(id, EffectId::Open { .. })
            && world.machine.state() == StateKind::Streaming
            && !inputs().any(opens);
        let pieces = inputs().filter_map(|input| match input {
            Input::Received { effect, bytes } if effect == id => Some(bytes.to_vec()),
            _ => None,
        });
        (*id, (is_open, pieces.flatten().collect()))
    };
    world.given.iter().map(held).collect()
}

/// How the run ends on the host of the scene.
fn end(world: &World, machine: RunMachine) -> Value {
    let mut host = Calm::new(world.config.endpoint.dialect, world.now, machine);
    host.hands = hands(world);
    host.end()
}

fn all_scenes() -> impl Iterator<Item = Scene> {
    BOTH.into_iter().flat_map(scenes)
}

#[test]
fn i04_a_snapshot_of_any_moment_is_read_and_the_run_ends_as_it_would_have() {
    for Scene { name, mut world } in all_scenes() {
        let snapshot = world.machine.snapshot();
        let restored = RunMachine::restore(&snapshot, Arc::clone(&world.config));
        let restored = restored.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(restored.state(), world.machine.state(), "{name}");
        assert_eq!(restored.snapshot(), snapshot, "{name}");
        let config = Arc::clone(&world.config);
        let idle = RunMachine::new(config, "thread".into(), Transcript::default());
        let machine = std::mem::replace(&mut world.machine, idle);
        assert_eq!(end(&world, restored), end(&world, machine), "{name}");
    }
}

#[test]
fn another_host_brings_a_snapshot_of_any_moment_to_its_end() {
    for Scene { name, world } in all_scenes() {
        let (config, now) = (Arc::clone(&world.config), Timestamp(world.now));
        let revived = RunMachine::revive(&world.machine.snapshot(), config, now);
        let revived = revived.unwrap_or_else(|error| panic!("{name}: {error}"));
        let end = Calm::new(world.config.endpoint.dialect, world.now, revived).end();
        if let Some(outcome) = world.machine.outcome() {
            assert_eq!(end["outcome"], json!(outcome), "{name}");
        }
    }
}

#[test]
fn the_scenes_have_every_state() {
    let states = |dialect: Dialect| -> BTreeSet<StateKind> {
        let scenes = scenes(dialect).into_iter();
        scenes.map(|scene| scene.world.machine.state()).collect()
    };
    let all: BTreeSet<_> = EDGES.iter().flat_map(|row| [row.from, row.to]).collect();
    // The conversation of an agent is its own.
    let agent = states(Dialect::AgUi);
    let missing: Vec<_> = all.difference(&agent).collect();
    assert_eq!(missing, [&StateKind::Summarizing]);
    // Chat Completions has no questions.
    let chat = states(Dialect::OpenAiChat);
    let missing: Vec<_> = all.difference(&chat).collect();
    assert_eq!(missing, [&StateKind::Interrupted]);
}
