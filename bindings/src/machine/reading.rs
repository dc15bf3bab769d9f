//! The queries of a run.

use super::{RunMachine, TimerKey};
use crate::effect::Outputs;
use crate::error::StepwellError;
use crate::event::Interrupt;
use crate::json_value::JsonValue;
use crate::outcome::{Outcome, TokenUsage};
use crate::state::StateKind;
use crate::time::Timestamp;
use stepwell_core::journal::Digest;
use stepwell_core::{event, run};

#[uniffi::export]
impl RunMachine {
    /// Returns the outputs that wait for the app without an input: after `restore` and `revive`.
    pub fn poll_outputs(&self) -> Result<Outputs, StepwellError> {
        self.outputs(None)
    }

    /// Returns when the run wants to be woken with `timeout`; every batch of outputs also has the time.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.read(|machine| machine.poll_timeout().map(Into::into))
            .flatten()
    }

    /// Returns what the run wants to be woken for.
    pub fn timeout_reason(&self) -> Option<TimerKey> {
        self.read(|machine| machine.timeout_reason().map(Into::into))
            .flatten()
    }

    /// Returns whether the run is idle: only the user, or the result of a deferred call, can continue it. Store the
    /// run's `snapshot`, and release the run until then, or until `poll_timeout`.
    pub fn is_resting(&self) -> bool {
        self.read(run::RunMachine::is_resting).unwrap_or_default()
    }

    /// Returns the id of the effect under which the result of a tool call is awaited, by the provider's id for the
    /// call.
    pub fn awaited_result(&self, tool_call_id: &str) -> Option<String> {
        self.read(|machine| {
            machine
                .awaited_result(tool_call_id)
                .map(|id| id.to_string())
        })
        .flatten()
    }

    /// Returns whether `dispose` was called.
    pub fn is_disposed(&self) -> bool {
        self.read(run::RunMachine::is_disposed).unwrap_or_default()
    }

    /// Returns the state of the run.
    pub fn state(&self) -> StateKind {
        self.read(|machine| machine.state().into())
            .unwrap_or(StateKind::Broken)
    }

    /// Returns how the turn ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.read(|machine| machine.outcome().cloned().map(Into::into))
            .flatten()
    }

    /// Returns what the agent is asking the user.
    pub fn interrupts(&self) -> Vec<Interrupt> {
        let convert = |interrupt: &event::Interrupt| interrupt.clone().into();
        self.read(|machine| machine.interrupts().iter().map(convert).collect())
            .unwrap_or_default()
    }

    /// Returns all that the model has said since the user's last message.
    pub fn text(&self) -> String {
        self.read(|machine| machine.transcript().text())
            .unwrap_or_default()
    }

    /// Returns the text since the user's last message as it is shown: see `TextOptions`.
    pub fn shown_text(&self) -> String {
        self.read(run::RunMachine::shown_text).unwrap_or_default()
    }

    /// Returns the conversation: a JSON array of AG-UI messages, oldest first.
    pub fn messages(&self) -> JsonValue {
        self.read(|machine| JsonValue::of(&machine.transcript().messages()))
            .unwrap_or_else(|| JsonValue::from_text("[]".to_owned()))
    }

    /// Returns the state shared with an AG-UI agent: any JSON.
    pub fn shared_state(&self) -> JsonValue {
        self.read(|machine| JsonValue::of(machine.transcript().shared_state()))
            .unwrap_or_else(|| JsonValue::from_text("{}".to_owned()))
    }

    /// Returns what is certain so far of the arguments of a call of the hop in progress, by the provider's id for the
    /// call: any JSON. Absent without `RunConfig.partial_arguments`, before the call begins and once its result is in
    /// the history. To follow each delta take the event `PartialArguments`.
    pub fn partial_arguments(&self, tool_call_id: &str) -> Option<JsonValue> {
        self.read(|machine| {
            let arguments = machine.partial_arguments(tool_call_id)?;
            Some(JsonValue::from_text(arguments.closed_text()))
        })
        .flatten()
    }

    /// Returns the typed answer: any JSON. Absent if none was asked for, and until the turn has succeeded.
    pub fn output(&self) -> Option<JsonValue> {
        self.read(|machine| machine.output().map(JsonValue::of))
            .flatten()
    }

    /// Returns what is certain so far of the typed answer of the hop in progress: any JSON. No value is checked yet. To
    /// follow each delta take the event `PartialOutput`.
    pub fn partial_output(&self) -> Option<JsonValue> {
        self.read(|machine| Some(JsonValue::of(&machine.partial_output()?.value())))
            .flatten()
    }

    /// Returns what the turn has cost so far, over all its hops.
    pub fn usage(&self) -> TokenUsage {
        self.read(|machine| machine.usage().into())
            .unwrap_or_default()
    }

    /// Returns the number of the hop, from 0.
    pub fn hop(&self) -> u32 {
        self.read(run::RunMachine::hop).unwrap_or_default()
    }

    /// Returns the conversation's id.
    pub fn thread_id(&self) -> String {
        self.read(|machine| machine.thread_id().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// Returns the turn: the run id of its first hop. Empty before the turn has started.
    pub fn turn(&self) -> String {
        self.read(|machine| machine.turn().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// Returns the run id of the hop.
    pub fn run_id(&self) -> String {
        self.read(|machine| machine.run_id().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// Returns a digest of the run: its state, outcome, cost and conversation. Equal runs have the same digest, in
    /// every language and on every machine; a journal ends with it. Absent if the run is broken.
    pub fn digest(&self) -> Option<String> {
        self.read(|machine| Digest::of_run(machine).to_string())
    }

    /// Returns the run as text, to be stored and passed to `restore` or `revive`. The text holds no key. After
    /// `dispose` it is the run from before.
    pub fn snapshot(&self) -> Result<String, StepwellError> {
        self.lock().run.snapshot()
    }

    /// Returns what a store keeps of the run in addition to the turn's blocks, to be passed to `reviveFrom`: for a turn
    /// that is stored before its first write, which has its own checkpoint. None if the turn has not begun, or stores
    /// no blocks.
    pub fn checkpoint(&self) -> Result<Option<String>, StepwellError> {
        self.lock().run.checkpoint()
    }

    /// Returns the lines of the journal since the last call, to be appended to a file; empty without a journal. The
    /// lines hold the whole conversation, but no key. A broken run still returns them. `replay_journal` replays all of
    /// them.
    pub fn take_journal(&self) -> String {
        self.lock().run.take_journal()
    }

    /// Closes the journal, because the run is over or the app leaves it, and returns the last lines. Later inputs are
    /// not recorded.
    pub fn end_journal(&self) -> String {
        self.lock().run.end_journal()
    }
}
