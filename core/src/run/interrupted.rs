use super::active::Active;
use super::block::BlockContent;
use super::completed::Completed;
use super::edges::on;
use super::executing_tools::ExecutingTools;
use super::fault::fault;
use super::opening::Opening;
use super::tools::Next;
use super::typed::{Run, next};
use crate::Timestamp;
use crate::dialect::mark_answers;
use crate::event::{Interrupt, ResumeEntry, ResumeStatus};
use serde::{Deserialize, Serialize};

/// The agent asks the person.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
pub struct Interrupted {
    interrupts: Vec<Interrupt>,
}

impl Interrupted {
    pub(super) fn new(interrupts: Vec<Interrupt>) -> Self {
        Self { interrupts }
    }
}

impl Active for Interrupted {}

next! {
    /// What the person's answers lead to.
    Resumed {
        /// The next hop is on its way.
        Opening,
        /// The agent also asked for tools: they run first.
        ExecutingTools,
        /// It asked for more rounds of tools than it may, or the conversation does not fit the model's context.
        Completed,
    }
}

/// The answers do not fit the questions: there must be one for each interrupt, and no other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ResumeError {
    /// A question has no answer.
    #[error("the interrupt `{0}` has no answer: resume answers all of them at once")]
    Unanswered(String),
    /// An answer has no question.
    #[error("no interrupt `{0}` is open")]
    Unknown(String),
    /// A question has two answers.
    #[error("the interrupt `{0}` is answered twice")]
    Twice(String),
    /// A question that has lapsed has an answer.
    #[error("the interrupt `{0}` has expired: it can be cancelled, but no more be answered")]
    Expired(String),
}

impl Run<Interrupted> {
    /// What the agent asks.
    #[must_use]
    pub fn interrupts(&self) -> &[Interrupt] {
        &self.state.interrupts
    }

    /// The person answers, all questions at once.
    ///
    /// # Errors
    /// The answers do not fit the questions; the run comes back as it was.
    pub fn resume(
        mut self,
        mut answers: Vec<ResumeEntry>,
        now: Timestamp,
    ) -> Result<Resumed, (Self, ResumeError)> {
        if let Err(error) = self.fits(&answers, now) {
            return Err((self, error));
        }
        let core = &mut self.core;
        core.tick(now);
        // A block, so that a host that dies does not ask again, and run again what follows from the answer.
        if !fault!(AnswersNotRecorded) {
            let answers = answers.clone();
            core.recorder
                .record(core.hop, BlockContent::Resumed { answers });
        }
        mark_answers(&mut answers, &self.state.interrupts);
        core.resume = answers;
        core.resume_turn_clock();
        core.leave_asked_calls(&self.state.interrupts);
        if !core.has_open_calls() {
            core.begin_hop(core.hop + 1);
            return Ok(self.goto(on::Resume, Opening::new(0)).opening_or_over());
        }
        Ok(match core.begin_round() {
            Next::Execute => self.goto(on::Call, ExecutingTools {}).into(),
            Next::Open => self.goto(on::Resume, Opening::new(0)).opening_or_over(),
            Next::Over(outcome) => {
                core.close(&outcome);
                self.goto(on::Finish, Completed::new(outcome)).into()
            }
        })
    }

    fn fits(&self, answers: &[ResumeEntry], now: Timestamp) -> Result<(), ResumeError> {
        for (index, answer) in answers.iter().enumerate() {
            let id = &answer.interrupt_id;
            let mut interrupts = self.state.interrupts.iter();
            let Some(interrupt) = interrupts.find(|interrupt| interrupt.id == *id) else {
                return Err(ResumeError::Unknown(id.clone()));
            };
            if answer.status == ResumeStatus::Resolved && interrupt.is_expired(now) {
                return Err(ResumeError::Expired(id.clone()));
            }
            if answers[..index]
                .iter()
                .any(|earlier| earlier.interrupt_id == *id)
            {
                return Err(ResumeError::Twice(id.clone()));
            }
        }
        let open = |interrupt: &&Interrupt| {
            !answers
                .iter()
                .any(|answer| answer.interrupt_id == interrupt.id)
        };
        match self.state.interrupts.iter().find(open) {
            Some(interrupt) => Err(ResumeError::Unanswered(interrupt.id.clone())),
            None => Ok(()),
        }
    }
}
