//! The host of a scenario: it feeds each input to its run, and records the outputs.

use super::chat::{Action, Screen};
use super::outputs::{Collected, result};
use super::setup::{config, options};
use super::wire;
use crate::StoredTurn;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::event::{Message, ResumeEntry};
use stepwell_core::journal::Digest;
use stepwell_core::run::{
    Authorization, Decision, Effect, EffectId, HookAnswer, Input, Output, Question, Refusal,
    RunConfig, RunMachine, Start, UserAnswer,
};
use stepwell_core::tool::{ToolFailure, ToolFailureKind};
use stepwell_core::transcript::Transcript;
use stepwell_core::{CallKey, Timestamp};

/// The name of the run where a scenario has only one.
pub(super) const RUN: &str = "run";

/// The host of a scenario, step by step, for players that stop in between. [`play`](super::play) plays a complete
/// scenario.
#[derive(Debug)]
pub struct Host {
    /// The configuration of the runs.
    pub config: Arc<RunConfig>,
    /// The runs, by name; the only run of most scenarios is `run`.
    pub runs: BTreeMap<String, RunMachine>,
    /// The snapshot of each write, by run and effect.
    pub written: BTreeMap<String, String>,
    /// The stored turn of each run with each write, if it began here.
    stored_at: BTreeMap<String, StoredTurn>,
    /// The stored turn of each run, by name.
    stored: BTreeMap<String, StoredTurn>,
    /// The screen of each run, by name.
    screens: BTreeMap<String, Screen>,
    /// The time, in milliseconds.
    pub now: u64,
}

impl Host {
    /// The host of a scenario before its first step.
    ///
    /// # Panics
    /// If the scenario's configuration or history is not of the form.
    #[must_use]
    pub fn new(scenario: &Value) -> Self {
        let config = config(&scenario["config"]);
        let history: Vec<Message> = match scenario.get("history") {
            Some(history) => serde_json::from_value(history.clone()).expect("messages"),
            None => Vec::new(),
        };
        let screen = Screen::new(history.clone());
        let history = Transcript::new(history);
        let machine = RunMachine::new(Arc::clone(&config), "thread-1".into(), history);
        Self {
            config,
            runs: BTreeMap::from([(RUN.to_owned(), machine)]),
            written: BTreeMap::new(),
            stored_at: BTreeMap::new(),
            stored: BTreeMap::new(),
            screens: BTreeMap::from([(RUN.to_owned(), screen)]),
            now: 0,
        }
    }

    /// Returns the run of this name.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn run(&self, name: &str) -> &RunMachine {
        self.runs.get(name).expect("there is a run of this name")
    }

    /// Returns whether the host has given one of the runs up.
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.runs.values().any(RunMachine::is_disposed)
    }

    /// Returns the present digest of each run, as in a journal.
    #[must_use]
    pub fn digests(&self) -> Map<String, Value> {
        let digest = |(name, machine): (&String, &RunMachine)| {
            let digest = Digest::of_run(machine).to_string();
            (name.clone(), Value::from(digest))
        };
        self.runs.iter().map(digest).collect()
    }

    /// Returns what a chat screen shows of each run.
    #[must_use]
    pub fn chats(&self) -> Map<String, Value> {
        let shown = |(name, screen): (&String, &Screen)| {
            let run = self.runs.get(name)?;
            Some((name.clone(), screen.shown(run)))
        };
        self.screens.iter().filter_map(shown).collect()
    }

    fn screen(&mut self, name: &str) -> &mut Screen {
        let screen = self.screens.entry(name.to_owned());
        screen.or_insert_with(|| Screen::new(Vec::new()))
    }

    /// Stores and restores every run.
    ///
    /// # Panics
    /// If a restored run differs.
    pub fn restore_all(&mut self) {
        for machine in self.runs.values_mut() {
            let snapshot = machine.snapshot();
            let restored = RunMachine::restore(&snapshot, Arc::clone(&self.config));
            *machine = restored.expect("a snapshot can be read");
            assert!(machine.poll_output().is_none(), "a restore gives nothing");
        }
    }

    /// Takes one step, and returns its outputs: the step's `gives`.
    ///
    /// # Panics
    /// If the step has another form.
    pub fn step(&mut self, step: &Value) -> Value {
        self.now = step["at"].as_u64().unwrap_or(self.now);
        let name = step["run"].as_str().unwrap_or(RUN).to_owned();
        let now = Timestamp(self.now);
        let mut collected = Collected::default();
        let mut error = None;
        match step["input"].as_str().expect("an input") {
            "new_run" => {
                let history = match step["history_of"].as_str() {
                    Some(other) => self.run(other).transcript().messages().to_vec(),
                    None => Vec::new(),
                };
                let thread = step["thread_id"].as_str().unwrap_or("thread-1");
                self.screens
                    .insert(name.clone(), Screen::new(history.clone()));
                let history = Transcript::new(history);
                let machine = RunMachine::new(Arc::clone(&self.config), thread.into(), history);
                self.stored.remove(&name);
                self.runs.insert(name.clone(), machine);
            }
            "restore" => {
                let snapshot = self.run(&name).snapshot();
                let machine = RunMachine::restore(&snapshot, Arc::clone(&self.config));
                self.runs
                    .insert(name.clone(), machine.expect("a snapshot can be read"));
            }
            "revive" => {
                let machine = match step["written"].as_str() {
                    Some(effect) => {
                        let write = format!("{name} {effect}");
                        match self.stored_at.get(&write) {
                            Some(stored) => {
                                self.stored.insert(name.clone(), stored.clone());
                                stored.revive(&self.config, now)
                            }
                            None => {
                                let config = Arc::clone(&self.config);
                                RunMachine::revive(&self.written[&write], config, now)
                            }
                        }
                    }
                    None => {
                        let snapshot = self.run(&name).snapshot();
                        RunMachine::revive(&snapshot, Arc::clone(&self.config), now)
                    }
                };
                self.runs
                    .insert(name.clone(), machine.expect("a snapshot can be read"));
                self.screen(&name).resume();
            }
            "receive" => {
                let bytes = wire::bytes(step);
                let cut = step["cut"].as_u64().map_or(bytes.len(), |cut| cut as usize);
                // `true`, or the number of chunks between two restores.
                let every = match &step["restore_between"] {
                    Value::Bool(true) => 1,
                    every => every.as_u64().unwrap_or(0) as usize,
                };
                for (at, piece) in bytes.chunks(cut.max(1)).enumerate() {
                    if every > 0 && at % every == 0 {
                        self.restore_all();
                    }
                    let input = Input::Received {
                        effect: effect(step),
                        bytes: Cow::Borrowed(piece),
                    };
                    let machine = self.runs.get_mut(&name).expect("there is a run");
                    error = machine.handle(input, now).err();
                    self.drain(&name, &mut collected);
                }
            }
            _ => {
                let machine = self.runs.get_mut(&name).expect("there is a run");
                let input = input(step, &self.config);
                let stored = self.stored.entry(name.clone()).or_default();
                stored.note(machine, &input);
                let action = Action::of(&input);
                error = machine.handle(input, now).err();
                if error.is_none() {
                    self.screen(&name).act(action, now);
                }
            }
        }
        self.drain(&name, &mut collected);
        let machine = self.run(&name);
        let mut gives = Map::new();
        gives.insert("state".to_owned(), json!(machine.state()));
        if let Some(at) = machine.poll_timeout() {
            gives.insert("wake_at".to_owned(), at.0.into());
        }
        if let Some(output) = machine.output() {
            gives.insert("output".to_owned(), output.clone());
        }
        if let Some(error) = error {
            gives.insert("error".to_owned(), error.to_string().into());
        }
        collected.put_into(&mut gives);
        Value::Object(gives)
    }

    fn drain(&mut self, name: &str, collected: &mut Collected) {
        let machine = self.runs.get_mut(name).expect("there is a run");
        let stored = self.stored.entry(name.to_owned()).or_default();
        let screen = self.screens.entry(name.to_owned());
        let screen = screen.or_insert_with(|| Screen::new(Vec::new()));
        while let Some(output) = machine.poll_output() {
            if let Output::Effect(
                id,
                Effect::Persist {
                    blocks, checkpoint, ..
                },
            ) = &output
            {
                let write = format!("{name} {id}");
                self.written.insert(write.clone(), machine.snapshot());
                if stored.has_begun() {
                    let enough = stored.check(machine, blocks, checkpoint, &self.config);
                    assert_eq!(enough, Ok(()), "the checkpoint of {id} is another run");
                    stored.write(blocks.clone(), checkpoint.clone());
                    self.stored_at.insert(write, stored.clone());
                }
            }
            screen.take(&output, Timestamp(self.now));
            collected.take(output);
        }
    }
}

fn effect(step: &Value) -> EffectId {
    let id = step["effect"].as_str().expect("an effect");
    id.parse().expect("the id of an effect")
}

fn entries(said: &Value) -> Vec<ResumeEntry> {
    match said {
        Value::Null => Vec::new(),
        said => serde_json::from_value(said.clone()).expect("answers"),
    }
}

fn call(text: &str) -> CallKey {
    let (hop, index) = text.split_once(':').expect("a hop and an index");
    CallKey {
        hop: hop.parse().expect("a number"),
        index: index.parse().expect("a number"),
    }
}

fn start(step: &Value, config: &RunConfig) -> Start {
    let run_id = step["run_id"].as_str().expect("a run's id");
    let message = match (step["say"].as_str(), step.get("message")) {
        (Some(text), _) => Some(Message::user(format!("{run_id}-user"), text)),
        (None, Some(message)) => Some(serde_json::from_value(message.clone()).expect("a message")),
        (None, None) => None,
    };
    Start {
        run_id: run_id.into(),
        parent_run_id: step["parent_run_id"].as_str().map(Into::into),
        message,
        resume: entries(&step["answers"]),
        options: options(&step["options"], config),
    }
}

/// Headers by name, in its order.
fn headers(said: &Value) -> Vec<(String, String)> {
    let headers = said.as_object().into_iter().flatten();
    let headers = headers.map(|(name, value)| {
        let value = value.as_str().expect("a text");
        (name.clone(), value.to_owned())
    });
    let mut headers: Vec<_> = headers.collect();
    headers.sort();
    headers
}

fn hook_answer(step: &Value) -> HookAnswer {
    let text = |name: &str| step[name].as_str().expect("a text").to_owned();
    match step["says"].as_str().expect("what the hook says") {
        "go_on" => HookAnswer::GoOn,
        "change_request" => HookAnswer::ChangeRequest {
            instructions: step["instructions"].as_str().map(str::to_owned),
            messages: step.get("messages").map(|messages| {
                serde_json::from_value(messages.clone()).expect("messages of AG-UI")
            }),
        },
        "change_arguments" => HookAnswer::arguments(&step["arguments"]),
        "change_result" => HookAnswer::result(text("content")),
        "refused" => HookAnswer::refuse(text("reason")),
        "failed" => HookAnswer::Failed {
            message: text("message"),
        },
        other => panic!("no hook says {other}"),
    }
}

fn input(step: &Value, config: &RunConfig) -> Input<'static> {
    let text = |name: &str| step[name].as_str().map(str::to_owned);
    let message = || text("message").expect("a message");
    let number = |name: &str| step[name].as_u64().expect("a number") as u32;
    match step["input"].as_str().expect("an input") {
        "start" => Input::Start(Box::new(start(step, config))),
        "run_created" => Input::RunCreated {
            effect: effect(step),
            run_id: text("run_id").expect("a run's id").into(),
        },
        "run_not_created" => Input::RunNotCreated {
            effect: effect(step),
            message: message(),
        },
        "opened" => Input::Opened {
            effect: effect(step),
            content_type: text("content_type"),
        },
        "refused" => Input::Refused {
            effect: effect(step),
            refusal: Refusal {
                status: step["status"].as_u64().expect("a status") as u16,
                retry_after: step["retry_after_ms"].as_u64().map(Duration::from_millis),
                body: wire::text(&step["body"]).into_bytes(),
            },
        },
        "connection_failed" => Input::ConnectionFailed {
            effect: effect(step),
            message: message(),
        },
        "ended" => Input::Ended {
            effect: effect(step),
        },
        "lost" => Input::Lost {
            effect: effect(step),
            message: message(),
        },
        "tool_finished" => Input::ToolFinished {
            effect: effect(step),
            result: result(&text("content").expect("a content")),
        },
        "tool_failed" => Input::ToolFinished {
            effect: effect(step),
            result: Err(ToolFailure::new(ToolFailureKind::Error, message())),
        },
        "tool_deferred" => Input::ToolDeferred {
            effect: effect(step),
        },
        "tool_progress" => Input::ToolProgress {
            effect: effect(step),
            fraction: step["fraction"].as_f64(),
            message: text("message"),
        },
        "tool_partial_result" => Input::ToolPartialResult {
            effect: effect(step),
            output: text("content").expect("a content").into(),
        },
        "tool_asks" => Input::ToolAsks {
            effect: effect(step),
            number: number("number"),
            question: Question::new(message(), step["schema"].clone()),
        },
        "answer" => Input::UserAnswered {
            effect: effect(step),
            answer: UserAnswer::Given {
                value: step["value"].clone(),
            },
        },
        "decline" => Input::UserAnswered {
            effect: effect(step),
            answer: UserAnswer::Declined {
                reason: text("reason"),
            },
        },
        "approve" => Input::Decided {
            effect: effect(step),
            decision: match step.get("arguments") {
                None => Decision::Granted,
                Some(arguments) => Decision::Edited {
                    arguments: arguments.to_string(),
                },
            },
        },
        "deny" => Input::Decided {
            effect: effect(step),
            decision: Decision::Denied {
                reason: text("reason"),
            },
        },
        "context_trimmed" => Input::ContextTrimmed {
            effect: effect(step),
            keep: serde_json::from_value(step["keep"].clone()).expect("ids"),
            summary: text("summary"),
        },
        "context_not_trimmed" => Input::ContextNotTrimmed {
            effect: effect(step),
            message: message(),
        },
        "model_resting" => Input::ModelResting {
            model: number("model"),
            until: Timestamp(step["until_ms"].as_u64().expect("a time")),
        },
        "model_chosen" => Input::ModelChosen {
            effect: effect(step),
            model: number("model"),
        },
        "model_not_chosen" => Input::ModelNotChosen {
            effect: effect(step),
            message: message(),
        },
        "output_decoded" => Input::OutputDecoded {
            effect: effect(step),
        },
        "output_refused" => Input::OutputRefused {
            effect: effect(step),
            reason: text("reason").expect("a reason"),
        },
        "authorized" => Input::Authorized {
            effect: effect(step),
            authorization: Authorization {
                key: text("key").map(Into::into),
                headers: headers(&step["headers"]),
            },
        },
        "not_authorized" => Input::NotAuthorized {
            effect: effect(step),
            message: message(),
        },
        "hook_answered" => Input::HookAnswered {
            effect: effect(step),
            answer: hook_answer(step),
        },
        "persisted" => Input::Persisted {
            effect: effect(step),
        },
        "persist_failed" => Input::PersistFailed {
            effect: effect(step),
            message: message(),
        },
        "resume" => Input::Resume(entries(&step["answers"])),
        "cancel" => Input::Cancel,
        "cancel_call" => Input::CancelCall {
            call: call(&text("call").expect("a call")),
        },
        "steer" => {
            let id = text("message_id").expect("an id");
            let message = Message::user(id, text("say").expect("a text"));
            Input::Steer(Box::new(message))
        }
        "entered_background" => Input::EnteredBackground,
        "entered_foreground" => Input::EnteredForeground,
        "network_lost" => Input::NetworkLost,
        "network_available" => Input::NetworkAvailable,
        "dispose" => Input::Dispose,
        "timeout" => Input::Timeout,
        other => panic!("no input {other}"),
    }
}
