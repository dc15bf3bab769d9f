//! Second runs that must come to the same.

use super::violation::{Invariant, Violation};
use crate::stored::difference;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::event::Event;
use stepwell_core::run::{
    CanonicalForm, Durability, Input, Misuse, Output, RunConfig, RunEvent, RunMachine,
};

/// A second run that gets the same inputs as the first, and must have the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Twin {
    /// A clone.
    Cloned,
    /// The run, stored and restored.
    Restored,
    /// A clone that gets the bytes of a stream in chunks of this many bytes. Only for runs without a store: with one,
    /// the blocks of a write depend on the events before it was due.
    Cut(usize),
}

#[derive(Debug, Default)]
pub(super) struct Twins {
    pub(super) kind: Option<Twin>,
}

/// The expected result of a twin.
pub(super) struct Expected {
    twin: Twin,
    before: Result<(), Violation>,
    result: Result<(), Misuse>,
    outputs: Vec<Output>,
    canonical: CanonicalForm,
}

fn violation(twin: Twin, message: impl Into<String>) -> Violation {
    Violation {
        invariant: match twin {
            Twin::Cloned => Invariant::EqualRunsHaveEqualFutures,
            Twin::Restored => Invariant::RestoreChangesNothing,
            Twin::Cut(_) => Invariant::CutsDoNotMatter,
        },
        message: message.into(),
    }
}

impl Twins {
    /// Tells a twin of the run the same.
    pub(super) fn feed(
        &self,
        machine: &RunMachine,
        config: &Arc<RunConfig>,
        input: &Input<'static>,
        now: u64,
    ) -> Option<Expected> {
        let kind = self.kind?;
        if matches!(kind, Twin::Cut(_)) && config.durability != Durability::None {
            return None;
        }
        let now = Timestamp(now);
        let mut twin = machine.clone();
        let mut before = Ok(());
        if kind == Twin::Restored && !machine.is_disposed() {
            match RunMachine::restore(&machine.snapshot(), Arc::clone(config)) {
                Ok(restored) => twin = restored,
                Err(error) => before = Err(violation(kind, error.to_string())),
            }
        }
        if kind == Twin::Restored && before.is_ok() && twin.snapshot() != machine.snapshot() {
            before = Err(violation(kind, "a restored run has another snapshot"));
        }
        let mut outputs = Vec::new();
        let mut tell = |twin: &mut RunMachine, input: Input<'_>| {
            let result = twin.handle(input, now);
            outputs.extend(std::iter::from_fn(|| twin.poll_output()));
            result
        };
        let result = match (kind, input) {
            (Twin::Cut(size), Input::Received { effect, bytes }) => {
                let (effect, mut result) = (*effect, Ok(()));
                for chunk in bytes.chunks(size.max(1)) {
                    let bytes = chunk.into();
                    result = tell(&mut twin, Input::Received { effect, bytes });
                }
                result
            }
            _ => tell(&mut twin, input.clone()),
        };
        Some(Expected {
            twin: kind,
            before,
            result,
            outputs,
            canonical: twin.canonical(),
        })
    }
}

impl Expected {
    /// Compares the run's result.
    pub(super) fn compare(
        self,
        result: &Result<(), Misuse>,
        outputs: &[Output],
        machine: &RunMachine,
    ) -> Result<(), Violation> {
        self.before?;
        if self.result != *result {
            let message = format!("{result:?} became {:?}", self.result);
            return Err(violation(self.twin, message));
        }
        let is_same_output = match self.twin {
            // Other chunks, other deltas: their texts and all else are the same.
            Twin::Cut(_) => essence(&self.outputs) == essence(outputs),
            _ => self.outputs == outputs,
        };
        if !is_same_output {
            let (one, other) = (format!("{outputs:?}"), format!("{:?}", self.outputs));
            return Err(violation(self.twin, difference(&one, &other)));
        }
        if !is_same(self.twin, &self.canonical, machine) {
            let message = difference(&machine.snapshot(), self.canonical.snapshot());
            return Err(violation(self.twin, message));
        }
        Ok(())
    }
}

/// Returns whether a twin is the same run. A restored run gets its key again, which no snapshot holds.
fn is_same(kind: Twin, twin: &CanonicalForm, machine: &RunMachine) -> bool {
    match kind {
        Twin::Restored => twin.snapshot() == machine.snapshot(),
        _ => *twin == machine.canonical(),
    }
}

/// The effects and moves of a run, its end, and its texts.
fn essence(outputs: &[Output]) -> (Vec<&Output>, String) {
    let mut text = String::new();
    let mut others = Vec::new();
    for output in outputs {
        match output {
            Output::Event(RunEvent::AgUi(Event::TextMessageContent(event))) => {
                text.push_str(&event.delta);
            }
            Output::Event(RunEvent::AgUi(Event::ReasoningMessageContent(event))) => {
                text.push_str(&event.delta);
            }
            Output::Event(event) if !matches!(event, RunEvent::Completed(_)) => {}
            _ => others.push(output),
        }
    }
    (others, text)
}
