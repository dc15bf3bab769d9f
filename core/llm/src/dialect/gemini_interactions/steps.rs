//! The steps, and what has been emitted of each.

use super::super::text_digest::TextDigest;
use super::super::{AnswerLimit, DecodeError};
use super::event::DeltaKind;
use super::kept::{self, Kept};
use super::step::WireStep;
use serde::{Deserialize, Serialize};

/// The maximum number of steps in one answer, which is more than the maximum number of calls.
const MOST_STEPS: usize = 4096;

/// The maximum length of an id that is kept, in bytes.
const LONGEST_ID: usize = 256;

/// The steps, in the order of their arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Steps(Vec<Step>);

/// A step of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    index: Option<u64>,
    /// Whether the step is complete.
    pub(super) is_done: bool,
    pub(super) state: State,
}

/// The state of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Output {
        /// The texts of the step, one after the other.
        said: TextDigest,
        citations: usize,
        /// The number of blocks of content that are no text.
        others: usize,
    },
    Thought {
        said: TextDigest,
        is_signed: bool,
        /// The step's stretch of reasoning in the answer.
        stretch: Option<usize>,
    },
    Call {
        id: Option<String>,
        /// The call's place in the answer; `None` if the call has no name.
        slot: Option<usize>,
        /// The arguments so far.
        said: TextDigest,
        /// The arguments that the call started with, until others come.
        given: Option<String>,
    },
    /// What the client has sent.
    Input,
    /// A step of the provider's own, until it is complete.
    Other(Option<Box<Kept>>, Option<String>),
}

impl State {
    /// Creates a step of this kind, of which nothing was emitted.
    pub(super) fn new(wire: &WireStep<'_>) -> Self {
        match wire {
            WireStep::Output { .. } => Self::output(),
            WireStep::Thought { .. } => Self::thought(),
            WireStep::Call { id, .. } => Self::Call {
                id: short(id.as_deref()),
                slot: None,
                said: TextDigest::default(),
                given: None,
            },
            WireStep::Input => Self::Input,
            WireStep::Other(step) => Self::Other(None, short(kept::id(step))),
        }
    }

    fn output() -> Self {
        Self::Output {
            said: TextDigest::default(),
            citations: 0,
            others: 0,
        }
    }

    fn thought() -> Self {
        Self::Thought {
            said: TextDigest::default(),
            is_signed: false,
            stretch: None,
        }
    }

    /// Returns whether both may be the same step.
    fn may_be(&self, wire: &WireStep<'_>) -> bool {
        match (self, wire) {
            (Self::Output { .. }, WireStep::Output { .. })
            | (Self::Thought { .. }, WireStep::Thought { .. })
            | (Self::Input, WireStep::Input) => true,
            (Self::Call { id, .. }, WireStep::Call { id: other, .. }) => {
                *id == short(other.as_deref())
            }
            (Self::Other(_, id), WireStep::Other(other)) => *id == short(kept::id(other)),
            _ => false,
        }
    }
}

impl Steps {
    pub(super) fn get(&self, at: usize) -> Option<&Step> {
        self.0.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Step> {
        self.0.get_mut(at)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the provider ran something itself, or asks for something that is no call.
    pub(super) fn has_others(&self) -> bool {
        let is_other = |step: &Step| matches!(step.state, State::Other(..));
        self.0.iter().any(is_other)
    }

    /// Returns the last step to come with this index; without one, the last step.
    #[inline]
    pub(super) fn at_index(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.0.iter().rposition(|step| step.index == index),
            None => self.0.len().checked_sub(1),
        }
    }

    /// Returns the step that a delta belongs to, or a new one if the peer announced none. The service writes arguments
    /// with the index of another step: they belong to the last open call.
    pub(super) fn of_piece(
        &mut self,
        index: Option<u64>,
        kind: DeltaKind,
    ) -> Result<Option<usize>, DecodeError> {
        let takes = |step: &Step| match (&step.state, kind) {
            (State::Output { .. }, DeltaKind::Text)
            | (State::Thought { .. }, DeltaKind::Summary) => true,
            (State::Call { .. }, DeltaKind::Arguments) => true,
            (State::Other(kept, _), DeltaKind::Arguments) => kept.is_some(),
            _ => false,
        };
        let at = self.at_index(index);
        if let Some(at) = at
            && takes(&self.0[at])
        {
            return Ok(Some(at));
        }
        let state = match kind {
            DeltaKind::Text => State::output(),
            DeltaKind::Summary => State::thought(),
            DeltaKind::Arguments => {
                let is_open = |step: &Step| {
                    !step.is_done && matches!(step.state, State::Call { slot: Some(_), .. })
                };
                return Ok(self.0.iter().rposition(is_open));
            }
        };
        self.add(index, state).map(Some)
    }

    /// Makes room for a step that starts; `None` if it has started before.
    pub(super) fn start(
        &mut self,
        index: Option<u64>,
        wire: &WireStep<'_>,
    ) -> Result<Option<usize>, DecodeError> {
        let is_it = |step: &Step| index.is_some() && step.index == index && step.state.may_be(wire);
        if self.0.iter().any(is_it) {
            return Ok(None);
        }
        self.add(index, State::new(wire)).map(Some)
    }

    /// Returns the places of the steps of a complete answer: each has that of the next step of its kind, or a new one.
    pub(super) fn of_whole(&mut self, steps: &[WireStep<'_>]) -> Result<Vec<usize>, DecodeError> {
        let mut is_taken = vec![false; self.0.len()];
        let mut places = Vec::with_capacity(steps.len().min(MOST_STEPS));
        for wire in steps {
            let mut known = self.0.iter().zip(&mut is_taken);
            let place = known.position(|(step, is_taken)| {
                let is_it = !*is_taken && step.state.may_be(wire);
                *is_taken |= is_it;
                is_it
            });
            places.push(match place {
                Some(at) => at,
                None => self.add(None, State::new(wire))?,
            });
        }
        Ok(places)
    }

    fn add(&mut self, index: Option<u64>, state: State) -> Result<usize, DecodeError> {
        let at = self.0.len();
        if at == MOST_STEPS {
            return Err(AnswerLimit::open(MOST_STEPS).into());
        }
        self.0.push(Step {
            index,
            is_done: false,
            state,
        });
        Ok(at)
    }
}

fn short(id: Option<&str>) -> Option<String> {
    id.filter(|id| id.len() <= LONGEST_ID).map(str::to_owned)
}
