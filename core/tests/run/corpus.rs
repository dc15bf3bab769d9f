//! The corpus: snapshots of real runs that every later version must load and bring to the same end.
//!
//! `tests/snapshots/v1` holds one file a moment: the snapshot, what its host had in its hands, and how the run ends
//! when the same host goes on with it and when another one takes over. The snapshots are frozen. A later version may
//! read them otherwise only through a step of its own from that version; a field that it adds has a default.
//!
//! `cargo test -p stepwell-core --test run -- --ignored freeze` writes the moments that have no file yet. Where a turn
//! is meant to end otherwise than before, `STEPWELL_ACCEPT=1 cargo test -p stepwell-core --test run corpus` writes the
//! new ends beside the old snapshots.

use crate::corpus_scenes::{Setting, configure, scenes};
use crate::interrupts::answer;
use crate::turn::BOTH;
use crate::wire::{body, text};
use crate::world::{World, config};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    Decision, EDGES, Effect, EffectId, HookAnswer, Input, Output, RunConfig, RunMachine, Start,
    StateKind,
};

#[derive(Serialize, Deserialize)]
struct Moment {
    name: String,
    dialect: Dialect,
    setting: Setting,
    state: StateKind,
    now: u64,
    /// What the host carries out.
    hands: Vec<Held>,
    snapshot: Value,
    /// How it ends on the same host.
    restored: Value,
    /// How it ends on another host.
    revived: Value,
}

/// An effect in the host's hands; of a stream that is open, what is to come of its body.
#[derive(Clone, Serialize, Deserialize)]
struct Held {
    effect: String,
    open: bool,
    rest: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/v1")
}

fn path(moment: &Moment) -> PathBuf {
    folder().join(format!("{}-{}.json", moment.dialect.name(), moment.name))
}

fn write(moment: &Moment) {
    let text = serde_json::to_string_pretty(moment).expect("JSON");
    std::fs::write(path(moment), text + "\n").expect("the folder is there");
}

fn corpus() -> Vec<Moment> {
    let files = std::fs::read_dir(folder()).expect("the folder is there");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let moments = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("a text");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    moments.collect()
}

/// A host that carries out everything well, without any world around it.
struct Calm {
    machine: RunMachine,
    dialect: Dialect,
    now: u64,
    hands: BTreeMap<EffectId, (bool, Vec<u8>)>,
}

impl Calm {
    fn new(moment: &Moment, machine: RunMachine) -> Self {
        Self {
            machine,
            dialect: moment.dialect,
            now: moment.now,
            hands: BTreeMap::new(),
        }
    }

    fn take_outputs(&mut self) {
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

    fn feed(&mut self, input: Input<'static>) {
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
            other => panic!("the host does not know {other}"),
        }
    }

    /// Answers all that is asked until nothing is left, and says how it ended.
    fn end(mut self) -> Value {
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
        let conversation = self.machine.conversation();
        json!({
            "outcome": outcome,
            "text": conversation.text(),
            "messages": conversation.messages(),
            "state": conversation.shared_state(),
            "usage": self.machine.usage(),
        })
    }
}

fn configuration(moment: &Moment) -> Arc<RunConfig> {
    let mut config = config(moment.dialect);
    configure(&mut config, moment.setting);
    Arc::new(config)
}

fn restored(moment: &Moment) -> Value {
    let snapshot = moment.snapshot.to_string();
    let machine = RunMachine::restore(&snapshot, configuration(moment))
        .unwrap_or_else(|error| panic!("{}: {error}", moment.name));
    assert_eq!(machine.state(), moment.state, "{}", moment.name);
    let mut host = Calm::new(moment, machine);
    for held in &moment.hands {
        let effect = held.effect.parse().expect("an effect's id");
        let rest = held.rest.clone().into_bytes();
        host.hands.insert(effect, (held.open, rest));
    }
    host.end()
}

fn revived(moment: &Moment) -> Value {
    let snapshot = moment.snapshot.to_string();
    let now = Timestamp(moment.now);
    let machine = RunMachine::revive(&snapshot, configuration(moment), now)
        .unwrap_or_else(|error| panic!("{}: {error}", moment.name));
    Calm::new(moment, machine).end()
}

#[test]
fn the_corpus_loads_and_every_run_of_it_comes_to_the_same_end() {
    let accept = std::env::var_os("STEPWELL_ACCEPT").is_some();
    for mut moment in corpus() {
        let (restored, revived) = (restored(&moment), revived(&moment));
        if accept {
            (moment.restored, moment.revived) = (restored, revived);
            write(&moment);
            continue;
        }
        let name = &moment.name;
        assert_eq!(restored, moment.restored, "{name}, restored");
        assert_eq!(revived, moment.revived, "{name}, revived");
    }
}

#[test]
fn the_corpus_has_every_state() {
    let states = |dialect: Option<Dialect>| -> BTreeSet<StateKind> {
        let moments = corpus().into_iter();
        let of = moments.filter(|moment| dialect.is_none_or(|dialect| moment.dialect == dialect));
        of.map(|moment| moment.state).collect()
    };
    let all: BTreeSet<_> = EDGES.iter().flat_map(|row| [row.from, row.to]).collect();
    assert_eq!(states(None), all);
    assert_eq!(states(Some(Dialect::AgUi)), all);
    // Chat Completions has no questions.
    let chat = states(Some(Dialect::OpenAiChat));
    let missing: Vec<_> = all.difference(&chat).collect();
    assert_eq!(missing, [&StateKind::Interrupted]);
}

#[test]
fn the_corpus_has_every_scene() {
    let frozen: BTreeSet<_> = corpus().iter().map(path).collect();
    for dialect in BOTH {
        for scene in scenes(dialect) {
            let moment = moment(scene.name, dialect, scene.setting, &scene.world);
            assert!(
                frozen.contains(&path(&moment)),
                "{} is not frozen",
                scene.name
            );
        }
    }
}

/// Whether all of `frozen` is in `now`, which may hold more.
fn missing(frozen: &Value, now: &Value, path: &str) -> Option<String> {
    match (frozen, now) {
        (Value::Object(frozen), Value::Object(now)) => frozen.iter().find_map(|(field, value)| {
            let path = format!("{path}/{field}");
            match now.get(field) {
                Some(now) => missing(value, now, &path),
                None => (!value.is_null()).then_some(path),
            }
        }),
        (Value::Array(frozen), Value::Array(now)) if frozen.len() == now.len() => {
            let mut pairs = frozen.iter().zip(now).enumerate();
            pairs.find_map(|(at, (frozen, now))| missing(frozen, now, &format!("{path}/{at}")))
        }
        _ => (frozen != now).then(|| path.to_owned()),
    }
}

/// What was renamed since the corpus was frozen.
fn under_present_names(frozen: &Value) -> Value {
    let rounds = |max: &Value| json!({"kind": "max_tool_rounds", "max": max});
    let mut run = frozen.clone();
    let core = run["core"].as_object_mut().expect("fields");
    // Whether the last hop has no tools is now which limit was reached.
    if core.shift_remove("tools_withheld") == Some(Value::Bool(true)) {
        core.insert("reached".to_owned(), rounds(&json!(2)));
    }
    if let Some(outcome) = run.pointer_mut("/state/outcome") {
        if outcome["outcome"] == "max_tool_rounds" {
            *outcome = json!({"outcome": "limit_reached", "limit": rounds(&json!(2))});
        } else if outcome["failure"]["failure"] == "too_many_tool_rounds" {
            let limit = rounds(&outcome["failure"]["limit"]);
            outcome["failure"] = json!({"failure": "limit_reached", "limit": limit});
        }
    }
    run
}

/// A field that was renamed and got a default would load, and be lost without a word.
#[test]
fn nothing_of_the_corpus_is_lost_when_it_is_loaded() {
    for moment in corpus() {
        let snapshot = moment.snapshot.to_string();
        let machine = RunMachine::restore(&snapshot, configuration(&moment)).expect("it loads");
        let now: Value = serde_json::from_str(&machine.snapshot()).expect("JSON");
        let frozen = under_present_names(&moment.snapshot["run"]);
        let lost = missing(&frozen, &now["run"], "");
        assert_eq!(lost, None, "{}", moment.name);
    }
}

fn moment(name: &str, dialect: Dialect, setting: Setting, world: &World) -> Moment {
    let rest = |id: EffectId| -> Vec<u8> {
        let inputs = world.agenda.values();
        let pieces = inputs.filter_map(|input| match input {
            Input::Received { effect, bytes } if *effect == id => Some(bytes.to_vec()),
            _ => None,
        });
        pieces.flatten().collect()
    };
    let held = |id: &EffectId| {
        let mut inputs = world.agenda.values();
        let opens =
            |input: &Input<'_>| matches!(input, Input::Opened { effect, .. } if effect == id);
        let open = matches!(id, EffectId::Open { .. })
            && world.machine.state() == StateKind::Streaming
            && !inputs.any(opens);
        let rest = rest(*id);
        // A body that is cut within a character goes on from the character's rest.
        let rest = String::from_utf8(rest).unwrap_or_default();
        Held {
            effect: id.to_string(),
            open,
            rest,
        }
    };
    Moment {
        name: name.to_owned(),
        dialect,
        setting,
        state: world.machine.state(),
        now: world.now,
        hands: world.hands.iter().map(held).collect(),
        snapshot: serde_json::from_str(&world.machine.snapshot()).expect("JSON"),
        restored: Value::Null,
        revived: Value::Null,
    }
}

#[test]
#[ignore = "writes the moments that have no file yet"]
fn freeze() {
    std::fs::create_dir_all(folder()).expect("the folder can be made");
    for dialect in BOTH {
        for scene in scenes(dialect) {
            let mut moment = moment(scene.name, dialect, scene.setting, &scene.world);
            if path(&moment).exists() {
                continue;
            }
            moment.restored = restored(&moment);
            moment.revived = revived(&moment);
            write(&moment);
        }
    }
}
