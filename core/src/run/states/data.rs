//! The data of each state.

use crate::Timestamp;
use crate::event::Interrupt;
use crate::run::parts::Answer;
use crate::run::protocol::{Outcome, StateKind};
use serde::{Deserialize, Serialize};

/// The run has not started.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Idle {}

/// A request is on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opening {
    attempt: u32,
}

/// The answer is coming.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Streaming {
    answer: Answer,
}

/// A model writes a summary of the conversation, which the next request carries.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Summarizing {
    answer: Answer,
}

/// Tools are running, or wait for the user to allow them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExecutingTools {}

/// The host decodes the typed answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decoding {}

/// Hooks look at the answer, which has come to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reviewing {}

/// A request failed and is tried again: soon, or when there is a network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// The next attempt.
    attempt: u32,
    /// The earliest time for the attempt, as the provider asked.
    not_before: Option<Timestamp>,
    /// The next hop asks: a part of this hop's answer was shown, and stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_next_hop: bool,
}

/// The agent asks the user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interrupted {
    interrupts: Vec<Interrupt>,
}

/// The turn is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Completed {
    outcome: Outcome,
}

impl Opening {
    pub(super) fn new(attempt: u32) -> Self {
        Self { attempt }
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }
}

impl Streaming {
    pub(super) fn new(answer: Answer) -> Self {
        Self { answer }
    }

    pub(super) fn answer(&self) -> &Answer {
        &self.answer
    }

    pub(super) fn answer_mut(&mut self) -> &mut Answer {
        &mut self.answer
    }
}

impl Summarizing {
    pub(super) fn new(answer: Answer) -> Self {
        Self { answer }
    }

    pub(super) fn answer(&self) -> &Answer {
        &self.answer
    }

    pub(super) fn answer_mut(&mut self) -> &mut Answer {
        &mut self.answer
    }
}

impl Waiting {
    pub(super) fn new(attempt: u32, not_before: Option<Timestamp>) -> Self {
        Self {
            attempt,
            not_before,
            is_next_hop: false,
        }
    }

    /// Creates the pause before the next hop asks for the answer of this one.
    pub(super) fn for_next_hop(not_before: Option<Timestamp>) -> Self {
        Self {
            attempt: 0,
            not_before,
            is_next_hop: true,
        }
    }

    pub(super) fn is_next_hop(&self) -> bool {
        self.is_next_hop
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(super) fn not_before(&self) -> Option<Timestamp> {
        self.not_before
    }
}

impl Interrupted {
    pub(super) fn new(interrupts: Vec<Interrupt>) -> Self {
        Self { interrupts }
    }

    pub(super) fn interrupts(&self) -> &[Interrupt] {
        &self.interrupts
    }
}

impl Completed {
    pub(super) fn new(outcome: Outcome) -> Self {
        Self { outcome }
    }

    pub(super) fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

/// A state: its name, and that it can be stored.
pub trait State: Serialize + sealed::Sealed {
    /// The state's name.
    const KIND: StateKind;
}

mod sealed {
    use crate::event::Interrupt;
    use crate::run::protocol::Outcome;

    /// The states are those of this crate.
    pub trait Sealed {
        /// Returns the turn's outcome, once it has ended.
        fn ended(&self) -> Option<&Outcome> {
            None
        }

        /// Returns the attempt of the request in flight, or of the answer that is arriving.
        fn attempt(&self) -> Option<u32> {
            None
        }

        /// Returns the agent's questions to the user.
        fn asked(&self) -> &[Interrupt] {
            &[]
        }
    }
}

macro_rules! states {
    ($($name:ident)*) => {$(
        impl State for $name {
            const KIND: StateKind = StateKind::$name;
        }
    )*};
}

states! { Idle Opening Waiting Summarizing Streaming Reviewing Decoding ExecutingTools Interrupted Completed }

macro_rules! nothing_of_its_own {
    ($($name:ident)*) => { $( impl sealed::Sealed for $name {} )* };
}

nothing_of_its_own! { Idle Waiting Reviewing Decoding ExecutingTools }

impl sealed::Sealed for Opening {
    fn attempt(&self) -> Option<u32> {
        Some(self.attempt)
    }
}

impl sealed::Sealed for Streaming {
    fn attempt(&self) -> Option<u32> {
        Some(self.answer.attempt())
    }
}

impl sealed::Sealed for Summarizing {
    fn attempt(&self) -> Option<u32> {
        Some(self.answer.attempt())
    }
}

impl sealed::Sealed for Interrupted {
    fn asked(&self) -> &[Interrupt] {
        &self.interrupts
    }
}

impl sealed::Sealed for Completed {
    fn ended(&self) -> Option<&Outcome> {
        Some(&self.outcome)
    }
}
