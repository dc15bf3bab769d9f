//! The machine: how it is made, and what may be asked of it.

use crate::error::Thrown;
use crate::{
    InterruptsValue, JsonValue, MessagesValue, OutcomeValue, OutputsValue, RunConfigValue,
    StateValue, UsageValue, from_js, to_js,
};
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::Message;
use stepwell_core::journal::{Digest, JournalWriter};
use stepwell_core::run::{self, Input};
use stepwell_core::{ThreadId, Timestamp};
use stepwell_json::{Outcome, Outputs, Refused, RunConfig, StateKind};
use wasm_bindgen::prelude::*;

/// A turn without any IO: the app owns the network, the tools, the clock and the store.
///
/// Each input is one call, and each call gives back all that came of it: `events` to show and `effects` to carry out and
/// to answer by their ids. `nowMs` is the time in milliseconds since the epoch; the browser's clock if left out. Call
/// `timeout` when `wakeAtMs` of the latest outputs has come.
///
/// The host's loop: `start`; for an `openStream` call `fetch`, then `opened`, then `receive` for every piece of the
/// body, then `ended` (or `refused`, `connectionFailed`, `lost`); for a `runTool` run the tool and call `toolFinished` or
/// `toolFailed`; until `outcome` is there. Wrong calls throw a `StepwellError`, and change nothing.
#[wasm_bindgen]
#[derive(Debug)]
pub struct RunMachine {
    machine: run::RunMachine,
    journal: Option<JournalWriter>,
}

fn config(value: &JsValue) -> Result<Arc<run::RunConfig>, Thrown> {
    let config: RunConfig = from_js("the configuration", value)?;
    Ok(Arc::new(config.into_core().map_err(Refused::from)?))
}

/// The time, or the clock's.
pub(crate) fn at(now_ms: Option<f64>) -> Timestamp {
    // A time below zero is none, and a double holds every millisecond of the next hundred thousand years.
    Timestamp(now_ms.unwrap_or_else(js_sys::Date::now).max(0.0) as u64)
}

impl RunMachine {
    /// How the run is set up.
    pub(crate) fn config(&self) -> Result<&Arc<run::RunConfig>, Thrown> {
        let broken = || Thrown::argument("the run", "it broke in an earlier call");
        self.machine.config().ok_or_else(broken)
    }

    pub(crate) fn handle(
        &mut self,
        input: Input<'_>,
        now_ms: Option<f64>,
    ) -> Result<OutputsValue, Thrown> {
        match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, input, at(now_ms))?,
            None => self.machine.handle(input, at(now_ms))?,
        }
        Ok(self.drain())
    }

    fn drain(&mut self) -> OutputsValue {
        let outputs = match &mut self.journal {
            Some(journal) => {
                Outputs::drain_by(&mut self.machine, |machine| journal.poll_output(machine))
            }
            None => Outputs::drain(&mut self.machine),
        };
        to_js(&outputs).unchecked_into()
    }
}

#[wasm_bindgen]
impl RunMachine {
    /// A run that is ready to start, on a conversation as it stands: AG-UI messages, oldest first, and the state shared
    /// with an AG-UI agent. With `journal` all inputs are written down, for `takeJournal`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        config: &RunConfigValue,
        #[wasm_bindgen(js_name = threadId)] thread_id: String,
        history: Option<MessagesValue>,
        #[wasm_bindgen(js_name = sharedState)] shared_state: Option<JsonValue>,
        journal: Option<bool>,
    ) -> Result<Self, JsValue> {
        let config = self::config(config)?;
        let messages: Vec<Message> = match history {
            Some(history) => from_js("the history", &history)?,
            None => Vec::new(),
        };
        let mut history = Conversation::new(messages);
        if let Some(state) = shared_state {
            history = history.with_shared_state(from_js("the state", &state)?);
        }
        let thread_id = ThreadId::from(thread_id);
        let is_written = journal.unwrap_or_default();
        let journal = is_written.then(|| JournalWriter::new(&config, &thread_id, &history));
        let machine = run::RunMachine::new(config, thread_id, history);
        Ok(Self { machine, journal })
    }

    /// A stored run in the same page, which was suspended and goes on: what the app was given to do, it still does.
    pub fn restore(snapshot: &str, config: &RunConfigValue) -> Result<Self, JsValue> {
        let config = self::config(config)?;
        let machine = run::RunMachine::restore(snapshot, config).map_err(Thrown::from)?;
        Ok(Self {
            machine,
            journal: None,
        })
    }

    /// A stored run whose page was closed. A request that had shown nothing goes out again; a stream that was open is
    /// resumed where the server can, else what was shown of the answer stays, marked as cut, and it is asked for anew; a
    /// tool that had begun is run again only if it says that it is idempotent, and else the model is told that its outcome
    /// is unknown. Take `pollOutputs` first. With `journal` all further inputs are written down, in a journal of their own.
    pub fn revive(
        snapshot: &str,
        config: &RunConfigValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
        journal: Option<bool>,
    ) -> Result<Self, JsValue> {
        let config = self::config(config)?;
        let now = at(now_ms);
        let revived = run::RunMachine::revive(snapshot, Arc::clone(&config), now);
        let mut machine = revived.map_err(Thrown::from)?;
        let mut journal = journal.unwrap_or_default().then(|| {
            let thread_id = machine.thread_id().cloned().unwrap_or_default();
            JournalWriter::of_stored(&config, &thread_id)
        });
        if let Some(journal) = &mut journal {
            let revived = journal.revive(snapshot, &config, now);
            machine = revived.map_err(Thrown::from)?;
        }
        Ok(Self { machine, journal })
    }

    /// What waits without an input of its own: after `revive`.
    #[wasm_bindgen(js_name = pollOutputs)]
    pub fn poll_outputs(&mut self) -> OutputsValue {
        self.drain()
    }

    /// When to call `timeout`, in milliseconds since the epoch; all outputs say so too.
    #[wasm_bindgen(js_name = pollTimeout)]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<f64> {
        self.machine.poll_timeout().map(|at| at.0 as f64)
    }

    /// Whether nothing but the user, or the result of a deferred call, can move the run on: store its `snapshot`, and
    /// let go of it until then, or until `pollTimeout`.
    #[wasm_bindgen(getter, js_name = isResting)]
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.machine.is_resting()
    }

    /// Whether `dispose` was called.
    #[wasm_bindgen(getter, js_name = isDisposed)]
    #[must_use]
    pub fn is_disposed(&self) -> bool {
        self.machine.is_disposed()
    }

    /// The id of the effect under which the result of a tool call is awaited, by the provider's id for the call.
    #[wasm_bindgen(js_name = awaitedResult)]
    #[must_use]
    pub fn awaited_result(
        &self,
        #[wasm_bindgen(js_name = toolCallId)] tool_call_id: &str,
    ) -> Option<String> {
        let effect = self.machine.awaited_result(tool_call_id)?;
        Some(effect.to_string())
    }

    /// Where the run stands.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn state(&self) -> StateValue {
        to_js(&StateKind::from(self.machine.state())).unchecked_into()
    }

    /// How the turn ended, once it has.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn outcome(&self) -> OutcomeValue {
        let outcome = self.machine.outcome().cloned().map(Outcome::from);
        let value = outcome.map_or(JsValue::UNDEFINED, |outcome| to_js(&outcome));
        value.unchecked_into()
    }

    /// What the agent asks the user, while it does.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn interrupts(&self) -> InterruptsValue {
        to_js(&self.machine.interrupts()).unchecked_into()
    }

    /// All that the model has said since the user's last message.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn text(&self) -> String {
        self.machine.conversation().text()
    }

    /// The same as it is shown: see `TextOptions`.
    #[wasm_bindgen(getter, js_name = shownText)]
    #[must_use]
    pub fn shown_text(&self) -> String {
        self.machine.shown_text()
    }

    /// The conversation: AG-UI messages, oldest first.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn messages(&self) -> MessagesValue {
        to_js(&self.machine.conversation().messages()).unchecked_into()
    }

    /// The state shared with an AG-UI agent.
    #[wasm_bindgen(getter, js_name = sharedState)]
    #[must_use]
    pub fn shared_state(&self) -> JsonValue {
        to_js(self.machine.conversation().shared_state()).unchecked_into()
    }

    /// What is certain so far of the arguments of a call of the hop in progress, by the provider's id for it; `null`
    /// while nothing is. Only with `RunConfig.partialArguments`.
    #[wasm_bindgen(js_name = partialArguments)]
    #[must_use]
    pub fn partial_arguments(
        &self,
        #[wasm_bindgen(js_name = toolCallId)] tool_call_id: &str,
    ) -> JsonValue {
        let arguments = self.machine.partial_arguments(tool_call_id);
        to_js(&arguments.map(|arguments| arguments.value())).unchecked_into()
    }

    /// The typed answer; `null` if there was to be none, and until the turn has ended well.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn output(&self) -> JsonValue {
        to_js(&self.machine.output()).unchecked_into()
    }

    /// What is certain so far of the typed answer of the hop in progress; `null` while nothing is.
    #[wasm_bindgen(getter, js_name = partialOutput)]
    #[must_use]
    pub fn partial_output(&self) -> JsonValue {
        let output = self.machine.partial_output();
        to_js(&output.map(|output| output.value())).unchecked_into()
    }

    /// What the turn has cost so far, over all its hops.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn usage(&self) -> UsageValue {
        to_js(&self.machine.usage()).unchecked_into()
    }

    /// The hop, from 0.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn hop(&self) -> u32 {
        self.machine.hop()
    }

    /// The conversation's id.
    #[wasm_bindgen(getter, js_name = threadId)]
    #[must_use]
    pub fn thread_id(&self) -> String {
        let id = self.machine.thread_id();
        id.map(ToString::to_string).unwrap_or_default()
    }

    /// The turn: the run id of its first hop. Empty before it has started.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn turn(&self) -> String {
        let id = self.machine.turn();
        id.map(ToString::to_string).unwrap_or_default()
    }

    /// The run id of the hop.
    #[wasm_bindgen(getter, js_name = runId)]
    #[must_use]
    pub fn run_id(&self) -> String {
        let id = self.machine.run_id();
        id.map(ToString::to_string).unwrap_or_default()
    }

    /// A digest of how the run stands: its state, outcome, cost and conversation. Runs that stand alike have the same,
    /// in every language and on every machine.
    #[must_use]
    pub fn digest(&self) -> String {
        Digest::of_run(&self.machine).to_string()
    }

    /// The run as text, to be stored and given to `restore` or `revive`. It holds no key.
    #[must_use]
    pub fn snapshot(&mut self) -> String {
        match &mut self.journal {
            Some(journal) => journal.snapshot(&self.machine),
            None => self.machine.snapshot(),
        }
    }

    /// The lines of the journal that were written since the last call; empty without a journal. They hold all that is
    /// said, but no key. The program's `stepwell replay` replays them.
    #[wasm_bindgen(js_name = takeJournal)]
    #[must_use]
    pub fn take_journal(&mut self) -> String {
        let journal = self.journal.as_mut();
        journal.map(JournalWriter::take_lines).unwrap_or_default()
    }

    /// Closes the journal, since the run is over or the page leaves it, and gives its last lines.
    #[wasm_bindgen(js_name = endJournal)]
    #[must_use]
    pub fn end_journal(&mut self) -> String {
        let Some(mut journal) = self.journal.take() else {
            return String::new();
        };
        journal.end(&self.machine);
        journal.take_lines()
    }
}
