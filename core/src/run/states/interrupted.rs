use super::Run;
use super::any_run::next;
use super::data::{Completed, ExecutingTools, Interrupted};
use super::edges::on;
use crate::Timestamp;
use crate::dialect::mark_answers;
use crate::event::{Interrupt, ResumeEntry, ResumeStatus};
use crate::run::protocol::{BlockContent, ResumeError};
use crate::run::turn::rounds::Next;

next! {
    /// The result of the user's answers.
    Resumed {
        /// The next hop is on its way.
        Opening,
        /// The agent also asked for tools: they run first.
        ExecutingTools,
        /// The model asked for too many rounds of tools, or the conversation does not fit its context.
        Completed,
    }
}

impl Run<Interrupted> {
    /// Returns the agent's questions.
    #[must_use]
    pub fn interrupts(&self) -> &[Interrupt] {
        self.state.interrupts()
    }

    /// Resumes with the user's answers to all questions at once.
    ///
    /// # Errors
    /// The answers do not fit the questions; the error returns the run unchanged.
    pub fn resume(
        mut self,
        mut answers: Vec<ResumeEntry>,
        now: Timestamp,
    ) -> Result<Resumed, (Self, ResumeError)> {
        if let Err(error) = self.fits(&answers, now) {
            return Err((self, error));
        }
        let turn = &mut *self.turn;
        turn.tick(now);
        // A block, so that a host that dies does not ask again, and run again what follows from the answer.
        turn.record(BlockContent::Resumed {
            answers: answers.clone(),
        });
        let interrupts = self.state.interrupts();
        mark_answers(&mut answers, interrupts);
        turn.set_resume(answers);
        turn.clocks_mut().resume_turn();
        turn.leave_asked_calls(interrupts);
        if !turn.has_open_calls() {
            return Ok(self.ask_next(on::Resume));
        }
        Ok(match turn.begin_round() {
            Next::Execute => self.goto(on::Call, ExecutingTools {}).into(),
            Next::Ask => self.ask_next(on::Resume),
            Next::Over(outcome) => {
                turn.close(&outcome);
                self.goto(on::Finish, Completed::new(outcome)).into()
            }
        })
    }

    fn fits(&self, answers: &[ResumeEntry], now: Timestamp) -> Result<(), ResumeError> {
        for (index, answer) in answers.iter().enumerate() {
            let id = &answer.interrupt_id;
            let mut interrupts = self.state.interrupts().iter();
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
        match self.state.interrupts().iter().find(open) {
            Some(interrupt) => Err(ResumeError::Unanswered(interrupt.id.clone())),
            None => Ok(()),
        }
    }
}
