//! What the app may ask of a run.

use super::{RunMachine, StateKind, TimerKey, broken};
use crate::effect::{Outputs, json};
use crate::error::StepwellError;
use crate::event::Interrupt;
use crate::outcome::{Outcome, TokenUsage};
use stepwell_core::{event, run};

#[uniffi::export]
impl RunMachine {
    /// What waits for the app without an input of its own: after `restore` and `revive`.
    pub fn poll_outputs(&self) -> Result<Outputs, StepwellError> {
        let mut inner = self.lock();
        inner.attempt(|_, _| Ok(()))
    }

    /// When the run wants to be woken with `timeout`, in milliseconds since the epoch; every batch of outputs says so
    /// too.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.read(|machine| machine.poll_timeout().map(|at| at.0))
            .flatten()
    }

    /// What the run wants to be woken for.
    pub fn timeout_reason(&self) -> Option<TimerKey> {
        self.read(|machine| machine.timeout_reason().map(Into::into))
            .flatten()
    }

    /// Whether nothing but the person, or the result of a deferred call, can move the run on: store its `snapshot`, and
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

    /// What the agent asks the person, while it does.
    pub fn interrupts(&self) -> Vec<Interrupt> {
        let convert = |interrupt: &event::Interrupt| interrupt.clone().into();
        self.read(|machine| machine.interrupts().iter().map(convert).collect())
            .unwrap_or_default()
    }

    /// All that the model has said since the person's last message.
    pub fn text(&self) -> String {
        self.read(|machine| machine.conversation().text())
            .unwrap_or_default()
    }

    /// The conversation: a JSON array of AG-UI messages, oldest first.
    pub fn messages_json(&self) -> String {
        self.read(|machine| json(&machine.conversation().messages()))
            .unwrap_or_else(|| "[]".to_owned())
    }

    /// The state shared with an AG-UI agent: any JSON.
    pub fn state_json(&self) -> String {
        self.read(|machine| json(machine.conversation().state()))
            .unwrap_or_else(|| "{}".to_owned())
    }

    /// What is certain so far of the arguments of a call of the hop in progress, by the provider's id for it: any JSON.
    /// Absent without `RunConfig.partial_arguments`, before the call began and once its result is in the history. To
    /// follow each piece take the event `PartialArguments`.
    pub fn partial_arguments_json(&self, tool_call_id: &str) -> Option<String> {
        self.read(|machine| {
            let arguments = machine.partial_arguments(tool_call_id)?;
            Some(arguments.closed_text())
        })
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

    /// The run id of the hop.
    pub fn run_id(&self) -> String {
        self.read(|machine| machine.run_id().map(|id| id.to_string()))
            .flatten()
            .unwrap_or_default()
    }

    /// The run as text, to be stored and given to `restore` or `revive`. It holds no key. After `dispose` it is the run
    /// from before.
    pub fn snapshot(&self) -> Result<String, StepwellError> {
        self.read(run::RunMachine::snapshot).ok_or_else(broken)
    }
}
