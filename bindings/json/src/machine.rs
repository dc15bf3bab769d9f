use crate::call::{Question, Told, id};
use crate::outputs::Outputs;
use crate::read::{read, read_call};
use crate::refused::Refused;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::event::Message;
use stepwell_core::run::{self, Input};
use stepwell_core::session::Turn;
use stepwell_core::transcript::Transcript;
use stepwell_ffi::{Compaction, GuardedRun, RunConfig, TurnRecord};

/// A turn without any IO, with an interface in JSON. After a panic inside it, every call fails with the kind `broken`.
///
/// Each input returns `{"outputs": {"events", "effects", "wakeAtMs"}}`: all of its outputs. A refused input returns
/// `{"refused": {"kind", "reason", "advice"}}`, and changes nothing.
#[derive(Debug)]
pub struct Machine {
    run: GuardedRun,
    /// Outputs without an input, or of an input that was refused.
    held: Outputs,
}

/// The JSON that a machine is created from.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Making {
    /// A [`RunConfig`], which is parsed separately, so that errors name it.
    config: Box<RawValue>,
    /// The thread of a new run.
    thread_id: Option<String>,
    #[serde(default)]
    history: Vec<Message>,
    shared_state: Option<Value>,
    /// What requests no longer carry of the history.
    compaction: Option<Compaction>,
    /// A snapshot from this process, of a run that was suspended and continues.
    restore: Option<String>,
    /// A snapshot from a process that died.
    revive: Option<String>,
    /// A store's data of a run whose process died.
    revive_from: Option<Stored>,
    #[serde(default)]
    now_ms: u64,
    /// Whether all inputs are recorded: not for a restored run, which has its own journal.
    #[serde(default)]
    journal: bool,
}

/// A stored run: its checkpoint, the turns of its thread, or those on the path to its turn alone, and the id of that
/// turn.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    checkpoint: String,
    turns: Vec<TurnRecord>,
    turn: String,
}

impl Stored {
    fn revive(
        self,
        config: &Arc<run::RunConfig>,
        now: Timestamp,
        journal: bool,
    ) -> Result<GuardedRun, Refused> {
        let Self {
            checkpoint,
            turns,
            turn,
        } = self;
        let turns = turns.into_iter().map(Turn::try_from);
        let turns = turns.collect::<Result<Vec<_>, _>>();
        let turns = turns.map_err(|reason| Refused::argument("the turns", reason))?;
        let run = GuardedRun::revive_from(&checkpoint, turns, &turn, config, now, journal)?;
        Ok(run)
    }
}

/// The result of a call.
#[derive(Serialize)]
#[serde(untagged)]
enum Given {
    Outputs {
        outputs: Outputs,
        #[serde(skip_serializing_if = "String::is_empty")]
        journal: String,
    },
    Answer {
        answer: Value,
    },
}

impl Machine {
    /// Creates a run that is ready to start (`{"config", "threadId", "history", "sharedState", "compaction"}`), or
    /// continues a stored one: in the same process by `{"config", "restore": SNAPSHOT}`, in a later one by `{"config", "revive": SNAPSHOT,
    /// "nowMs"}`, or from a store by `{"config", "reviveFrom": {"checkpoint", "turns", "turn"}, "nowMs"}`. With
    /// `"journal": true` a new or a revived run records its inputs: lines of a journal are returned next to the
    /// outputs, as `"journal"`.
    ///
    /// # Errors
    /// The configuration or the snapshot is invalid.
    pub fn make(json: &str) -> Result<Self, Refused> {
        let making: Making = read("the machine", json)?;
        let config: RunConfig = read("the configuration", making.config.get())?;
        let config = Arc::new(config.into_core()?);
        let now = Timestamp(making.now_ms);
        let run = match (making.restore, making.revive, making.revive_from) {
            (None, None, None) => {
                let missing = || Refused::argument("the machine", "`threadId` is missing");
                let thread = making.thread_id.ok_or_else(missing)?;
                let mut history = Transcript::new(making.history);
                if let Some(state) = making.shared_state {
                    history = history.with_shared_state(state);
                }
                if let Some(compaction) = making.compaction {
                    history = history.with_compaction(compaction.into());
                }
                GuardedRun::new(config, thread.into(), history, making.journal)
            }
            (Some(snapshot), None, None) => GuardedRun::restore(&snapshot, config)?,
            (None, Some(snapshot), None) => {
                GuardedRun::revive(&snapshot, &config, now, making.journal)?
            }
            (None, None, Some(stored)) => stored.revive(&config, now, making.journal)?,
            _ => {
                let reason = "it is restored or revived, and that from one thing";
                return Err(Refused::argument("the machine", reason));
            }
        };
        Ok(Self {
            run,
            held: Outputs::default(),
        })
    }

    /// Handles an input: `{"input": NAME, …}`, with the name and the fields of `RunMachine` in the other bindings, in
    /// camel case. `now_ms` is the time in milliseconds since the epoch.
    pub fn call(&mut self, json: &str, now_ms: u64) -> String {
        let input = read_call("input", json).and_then(|told: Told| told.into_core(&self.run));
        written(input.and_then(|input| self.take(Some((input, now_ms)))))
    }

    /// Handles bytes of a stream's body, in chunks as the transport gave them, cut anywhere.
    pub fn receive(&mut self, effect: &str, bytes: &[u8], now_ms: u64) -> String {
        let input = id(effect).map(|effect| Input::Received {
            effect,
            bytes: Cow::Borrowed(bytes),
        });
        written(input.and_then(|input| self.take(Some((input, now_ms)))))
    }

    /// Returns the outputs that wait without an input: after `restore` and `revive`.
    pub fn poll_outputs(&mut self) -> String {
        written(self.take(None))
    }

    /// Answers a question, `{"ask": NAME}`: returns `{"answer": …}`, and changes nothing.
    pub fn ask(&mut self, json: &str) -> String {
        let answer = read_call("ask", json).and_then(|question: Question| {
            Ok(match self.run.read(|machine| question.answer(machine))? {
                Some(answer) => answer,
                None => self.run.snapshot()?.into(),
            })
        });
        written_answer(answer)
    }

    /// Closes the journal, because the run is over or its host leaves it: returns the last lines as `{"answer": …}`,
    /// empty without a journal.
    pub fn end_journal(&mut self) -> String {
        written_answer(guard(|| Ok(self.run.end_journal().into())))
    }

    fn take(&mut self, input: Option<(Input<'_>, u64)>) -> Result<Given, Refused> {
        let Self { run, held } = self;
        let input = input.map(|(input, now_ms)| (input, Timestamp(now_ms)));
        let wake_at = run.handle(input, |output| held.push(output))?;
        Ok(Given::Outputs {
            outputs: held.taken(wake_at),
            journal: run.take_journal(),
        })
    }
}

fn written(given: Result<Given, Refused>) -> String {
    let text = given.and_then(|given| serde_json::to_string(&given).map_err(Refused::broken));
    text.unwrap_or_else(|refused| refused.to_json())
}

/// Formats the result of a call that returns an answer.
pub(crate) fn written_answer(answer: Result<Value, Refused>) -> String {
    written(answer.map(|answer| Given::Answer { answer }))
}

/// Runs the core's code; a panic in it is an error.
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
    stepwell_ffi::guard(|| Ok(work()))?
}

#[cfg(test)]
mod tests {
    use super::Machine;
    use serde_json::{Value, json};
    use stepwell_core::journal::Journal;

    fn machine() -> Machine {
        let config = json!({ "provider": "openai-compatible", "model": "m", "baseUrl": "http://localhost/v1" });
        Machine::make(&json!({ "config": config, "threadId": "thread-1" }).to_string()).unwrap()
    }

    fn call(machine: &mut Machine, call: &Value) -> Value {
        serde_json::from_str(&machine.call(&call.to_string(), 1_000)).unwrap()
    }

    fn ask(machine: &mut Machine, name: &str) -> Value {
        let mut answer: Value =
            serde_json::from_str(&machine.ask(&json!({ "ask": name }).to_string())).unwrap();
        answer["answer"].take()
    }

    /// Returns the same run in another machine, by `restore` or `revive`.
    fn stored(machine: &mut Machine, how: &str) -> Machine {
        let config = json!({ "provider": "openai-compatible", "model": "m", "baseUrl": "http://localhost/v1" });
        let making = json!({ "config": config, how: ask(machine, "snapshot"), "nowMs": 5_000 });
        Machine::make(&making.to_string()).unwrap()
    }

    #[test]
    fn a_turn_is_played_in_json() {
        let mut machine = machine();
        let start = json!({ "input": "start", "start": { "runId": "run-1", "text": "Hello" } });
        let opened = call(&mut machine, &start);
        let effect = &opened["outputs"]["effects"][0];
        assert_eq!(effect["type"], "openStream");
        let id = effect["id"].as_str().unwrap().to_owned();
        call(
            &mut machine,
            &json!({ "input": "opened", "effect": id, "contentType": "text/event-stream" }),
        );
        let body = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        machine.receive(&id, body.as_bytes(), 1_001);
        call(&mut machine, &json!({ "input": "ended", "effect": id }));
        assert_eq!(ask(&mut machine, "outcome")["outcome"], "success");
        assert_eq!(ask(&mut machine, "text"), "Hi");
        assert_eq!(ask(&mut machine, "state"), "completed");
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_changes_nothing() {
        let mut machine = machine();
        let before = ask(&mut machine, "digest");
        for (wrong, kind) in [
            (json!({ "input": "resume", "answers": [] }), "misuse"),
            (json!({ "input": "no such call" }), "invalidArgument"),
            (
                json!({ "input": "ended", "effect": "what?" }),
                "invalidArgument",
            ),
            (
                json!({ "input": "ended", "efect": "open:0:0" }),
                "invalidArgument",
            ),
            (json!([]), "invalidArgument"),
        ] {
            let given = call(&mut machine, &wrong);
            assert_eq!(given["refused"]["kind"], kind, "{wrong}: {given}");
        }
        let refused: Value = serde_json::from_str(&machine.receive("?", b"", 0)).unwrap();
        assert_eq!(refused["refused"]["kind"], "invalidArgument");
        assert_eq!(ask(&mut machine, "digest"), before);
        assert!(Machine::make("{").is_err());
        assert!(Machine::make(r#"{"config":{"provider":"nobody"},"threadId":"t"}"#).is_err());
    }

    #[test]
    fn what_a_refused_call_had_drained_comes_with_the_next() {
        let mut machine = machine();
        let start = json!({ "input": "start", "start": { "runId": "run-1", "text": "Hello" } });
        call(&mut machine, &start);
        let mut revived = stored(&mut machine, "revive");
        let refused = call(&mut revived, &json!({ "input": "resume", "answers": [] }));
        assert_eq!(refused["refused"]["kind"], "misuse");
        let outputs = call(&mut revived, &json!({ "input": "networkAvailable" }));
        assert_eq!(
            outputs["outputs"]["effects"][0]["type"], "openStream",
            "{outputs}"
        );
    }

    #[test]
    fn a_journal_that_is_asked_for_is_replayed() {
        let config = json!({ "provider": "openai-compatible", "model": "m", "baseUrl": "http://localhost/v1" });
        let making = json!({ "config": config, "threadId": "thread-1", "journal": true });
        let mut machine = Machine::make(&making.to_string()).unwrap();
        let mut lines = String::new();
        for input in [
            json!({ "input": "start", "start": { "runId": "run-1", "text": "Hello" } }),
            json!({ "input": "cancel" }),
        ] {
            let given = call(&mut machine, &input);
            lines += given["journal"].as_str().unwrap();
        }
        let digest = ask(&mut machine, "digest");
        let end: Value = serde_json::from_str(&machine.end_journal()).unwrap();
        lines += end["answer"].as_str().unwrap();
        let replayed = Journal::parse(&lines).unwrap().replay().unwrap();
        assert_eq!(replayed.digest.to_string(), digest.as_str().unwrap());
        let after: Value = serde_json::from_str(&machine.end_journal()).unwrap();
        assert_eq!(after, json!({ "answer": "" }));
    }

    #[test]
    fn a_snapshot_is_restored_with_what_it_had_given_out() {
        let mut machine = machine();
        let start = json!({ "input": "start", "start": { "runId": "run-1", "text": "Hello" } });
        call(&mut machine, &start);
        let mut revived = stored(&mut machine, "revive");
        let waiting: Value = serde_json::from_str(&revived.poll_outputs()).unwrap();
        let effects = waiting["outputs"]["effects"].as_array().unwrap();
        assert_eq!(effects[0]["type"], "openStream", "{waiting}");
        let mut restored = stored(&mut machine, "restore");
        assert_eq!(ask(&mut restored, "digest"), ask(&mut machine, "digest"));
    }
}
