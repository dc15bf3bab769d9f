//! What the app may ask of a run.

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
    /// What waits for the app without an input of its own: after `restore` and `revive`.
    pub fn poll_outputs(&self) -> Result<Outputs, StepwellError> {
        self.outputs(None)
    }

    /// When the run wants to be woken with `timeout`; every batch of outputs says so
    /// too.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.read(|machine| machine.poll_timeout().map(Into::into))
            .flatten()
    }

    /// What the run wants to be woken for.
    pub fn timeout_reason(&self) -> Option<TimerKey> {
        self.read(|machine| machine.timeout_reason().map(Into::into))
            .flatten()
    }

    /// Whether nothing but the user, or the result of a deferred call, can move the run on: store its `snapshot`, and
    /// let go of it until then, or until `poll_timeout`.
    pub fn is_resting(&self) -> bool {
        self.read(run::RunMachine::is_resting).unwrap_or_default()
    }

    /// The id of the effect under which the result of a tool call is awaited, by the provider's id for the call.
    pub fn awaited_result(&self, tool_call_id: &str) -> Option<String> {
        self.read(|machine| {
            machine
                .awaited_result(tool_call_id)
                .map(|id| id.to_string())
        })
        .flatten()
    }

    /// Whether `dispose` was called.
    pub fn is_disposed(&self) -> bool {
        self.read(run::RunMachine::is_disposed).unwrap_or_default()
    }

    /// Where the run stands.
    pub fn state(&self) -> StateKind {
        self.read(|machine| machine.state().into())
            .unwrap_or(StateKind::Broken)
    }

    /// How the turn ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.read(|machine| machine.outcome().cloned().map(Into::into))
            .flatten()
    }

    /// What the agent asks the user, while it does.
    pub fn interrupts(&self) -> Vec<Interrupt> {
        let convert = |interrupt: &event::Interrupt| interrupt.clone().into();
        self.read(|machine| machine.interrupts().iter().map(convert).collect())
            .unwrap_or_default()
    }

    /// All that the model has said since the user's last message.
    pub fn text(&self) -> String {
        self.read(|machine| machine.conversation().text())
            .unwrap_or_default()
    }

    /// The text since the user's last message as it is shown: see `TextOptions`.
    pub fn shown_text(&self) -> String {
        self.read(run::RunMachine::shown_text).unwrap_or_default()
    }

    /// The conversation: a JSON array of AG-UI messages, oldest first.
    pub fn messages(&self) -> JsonValue {
        self.read(|machine| JsonValue::of(&machine.conversation().messages()))
            .unwrap_or_else(|| JsonValue::from_text("[]".to_owned()))
    }

    /// The state shared with an AG-UI agent: any JSON.
    pub fn shared_state(&self) -> JsonValue {
        self.read(|machine| JsonValue::of(machine.conversation().shared_state()))
            .unwrap_or_else(|| JsonValue::from_text("{}".to_owned()))
    }

    /// What is certain so far of the arguments of a call of the hop in progress, by the provider's id for it: any JSON.
    /// Absent without `RunConfig.partial_arguments`, before the call began and once its result is in the history. To
    /// follow each piece take the event `PartialArguments`.
    pub fn partial_arguments(&self, tool_call_id: &str) -> Option<JsonValue> {
        self.read(|machine| {
            let arguments = machine.partial_arguments(tool_call_id)?;
            Some(JsonValue::from_text(arguments.closed_text()))
        })
        .flatten()
    }

    /// The typed answer: any JSON. Absent if there was to be none, and until the turn has ended well.
    pub fn output(&self) -> Option<JsonValue> {
        self.read(|machine| machine.output().map(JsonValue::of))
            .flatten()
    }

    /// What is certain so far of the typed answer of the hop in progress: any JSON. Nothing of it is checked yet. To follow
    /// each piece take the event `PartialOutput`.
    pub fn partial_output(&self) -> Option<JsonValue> {
        self.read(|machine| Some(JsonValue::of(&machine.partial_output()?.value())))
            .flatten()
    }

    /// What the turn has cost so far, over all its hops.
    pub fn usage(&self) -> TokenUsage {
        self.read(|machine| machine.usage().into())
            .unwrap_or_default()
    }

    /// The hop, from 0.
    pub fn hop(&self) -> u32 {
        self.read(run::RunMachine::hop).unwrap_or_default()
    }

    /// The conversation's id.
    pub fn thread_id(&self) -> String {
        self.read(|machine| machine.thread_id().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// The turn: the run id of its first hop. Empty before it has started.
    pub fn turn(&self) -> String {
        self.read(|machine| machine.turn().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// The run id of the hop.
    pub fn run_id(&self) -> String {
        self.read(|machine| machine.run_id().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// A digest of how the run stands: its state, outcome, cost and conversation. Runs that stand alike have the same, in
    /// every language and on every machine; it is the one that a journal ends with. Absent if the run is broken.
    pub fn digest(&self) -> Option<String> {
        self.read(|machine| Digest::of_run(machine).to_string())
    }

    /// The run as text, to be stored and given to `restore` or `revive`. It holds no key. After `dispose` it is the run
    /// from before.
    pub fn snapshot(&self) -> Result<String, StepwellError> {
        self.lock().run.snapshot()
    }

    /// What a store keeps of the run beside the turn's blocks, to be given to `reviveFrom`: for a turn that is stored before
    /// its first write, which brings its own. None if the turn has not begun, or stores no blocks.
    pub fn checkpoint(&self) -> Result<Option<String>, StepwellError> {
        self.lock().run.checkpoint()
    }

    /// The lines of the journal that were written since the last call, to be appended to a file; empty without a
    /// journal. They hold all that is said, but no key. A run that broke still gives them. `replay_journal` replays all
    /// of them.
    pub fn take_journal(&self) -> String {
        self.lock().run.take_journal()
    }

    /// Closes the journal, since the run is over or the app leaves it, and gives its last lines. Later inputs are written
    /// down no more.
    pub fn end_journal(&self) -> String {
        self.lock().run.end_journal()
    }
}
