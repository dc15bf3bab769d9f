//! Questions to the user, and what they answer.

use crate::turn::interrupts;
use std::collections::HashMap;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Interrupt, ResumeEntry, ResumeStatus};
use stepwell_core::run::{self, UserAnswer};
use stepwell_io::store::Reply;
use stepwell_io::tool::{Decision, ToolRegistry};
use time::OffsetDateTime;

/// One question.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The question as the client receives it.
    pub interrupt: Interrupt,
    /// The part of the turn that asks.
    pub asker: Asker,
    /// When the question expires.
    pub expires: Option<OffsetDateTime>,
}

/// The part of a turn that asks a question.
#[derive(Clone, Debug)]
pub(crate) enum Asker {
    /// A call of the tool of this name, which asks to run.
    Call(String),
    /// A tool that runs asks this.
    RunningTool(run::Question),
    /// The agent behind the server.
    Agent,
}

/// The user's answers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answers {
    /// To calls that ask to run, by the call.
    pub decisions: HashMap<ToolCallId, Decision>,
    /// To running tools, by the id of the question.
    pub given: HashMap<String, UserAnswer>,
    /// To those of the agent behind the server.
    pub forwarded: Vec<ResumeEntry>,
}

/// Why answers are not taken. The questions stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresumable {
    /// Nothing is answered, and something is asked.
    #[error(
        "the thread has open questions: answer or cancel each in `resume` (open: {})", .0.join(", ")
    )]
    Open(Vec<String>),
    /// A question that was answered is not open.
    #[error("no interrupt `{0}` is open on this thread: it was answered, or never asked")]
    Unknown(String),
    /// Something is answered twice.
    #[error("the interrupt `{0}` is answered twice")]
    Twice(String),
    /// Something has no answer.
    #[error("the interrupt `{0}` has no answer: `resume` answers or cancels all of them at once")]
    Unanswered(String),
    /// The time for the answer is over.
    #[error("the interrupt `{0}` has expired: it can only be cancelled")]
    Expired(String),
    /// The answer is none to what is asked.
    #[error("the answer to the interrupt `{id}` does not fit: {reason}")]
    Payload {
        /// The question.
        id: String,
        /// The reason of the refusal.
        reason: String,
    },
}

impl Unresumable {
    /// For programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(_) => "interrupts_open",
            Self::Unknown(_) => "interrupt_unknown",
            Self::Twice(_) => "interrupt_answered_twice",
            Self::Unanswered(_) => "interrupt_unanswered",
            Self::Expired(_) => "interrupt_expired",
            Self::Payload { .. } => "interrupt_answer_invalid",
        }
    }
}

impl Question {
    pub(crate) fn has_expired(&self, now: OffsetDateTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

impl Answers {
    /// Reads answers, to some of the questions or to all, and to no other.
    pub(crate) fn read<'a>(
        entries: &[ResumeEntry],
        questions: &(impl Iterator<Item = &'a Question> + Clone),
        tools: &ToolRegistry,
        now: OffsetDateTime,
    ) -> Result<Self, Unresumable> {
        let mut answers = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            let id = &entry.interrupt_id;
            let question = questions.clone().find(|asked| asked.interrupt.id == *id);
            let question = question.ok_or_else(|| Unresumable::Unknown(id.clone()))?;
            if entries[..index]
                .iter()
                .any(|earlier| earlier.interrupt_id == *id)
            {
                return Err(Unresumable::Twice(id.clone()));
            }
            if entry.status == ResumeStatus::Resolved && question.has_expired(now) {
                return Err(Unresumable::Expired(id.clone()));
            }
            let misfit = |reason| Unresumable::Payload {
                id: id.clone(),
                reason,
            };
            match (&question.asker, &question.interrupt.tool_call_id) {
                (Asker::Call(tool), Some(call)) => {
                    let decision = interrupts::decision(entry, tool, tools);
                    let decision = decision.map_err(misfit)?;
                    answers.decisions.insert(call.clone(), decision);
                }
                (Asker::RunningTool(asked), _) => {
                    let is_late = question.has_expired(now);
                    let answer = interrupts::tool_answer(entry, asked, is_late);
                    let answer = answer.map_err(misfit)?;
                    answers.given.insert(id.clone(), answer);
                }
                _ => answers.forwarded.push(entry.clone()),
            }
        }
        Ok(answers)
    }

    /// Reads the reply that a conversation gives to a question, and returns it as the client of the turn is told of it.
    pub(crate) fn of_reply(
        question: &Question,
        reply: Reply,
        tools: &ToolRegistry,
    ) -> Result<(ResumeEntry, Self), Unresumable> {
        let id = &question.interrupt.id;
        let misfit = |reason| Unresumable::Payload {
            id: id.clone(),
            reason,
        };
        let mut answers = Self::default();
        let mut status = ResumeStatus::Resolved;
        match (&question.asker, &question.interrupt.tool_call_id, reply) {
            (Asker::Call(tool), Some(call), reply) => {
                let decision = match reply {
                    Reply::Approve { arguments: None } => Decision::Granted,
                    Reply::Approve {
                        arguments: Some(arguments),
                    } => {
                        let arguments = arguments.to_string();
                        let checked = tools.check(tool, &arguments);
                        checked.map_err(|error| misfit(error.to_string()))?;
                        Decision::Edited { arguments }
                    }
                    Reply::Deny { reason } => Decision::Denied { reason },
                    _ => return Err(Unresumable::Unknown(id.clone())),
                };
                answers.decisions.insert(call.clone(), decision);
            }
            (Asker::RunningTool(asked), _, Reply::Answer { value }) => {
                let checked = asked.check(&value);
                checked.map_err(|error| misfit(error.to_string()))?;
                answers
                    .given
                    .insert(id.clone(), UserAnswer::Given { value });
            }
            (Asker::RunningTool(_), _, Reply::Deny { reason }) => {
                status = ResumeStatus::Cancelled;
                let declined = UserAnswer::Declined { reason };
                answers.given.insert(id.clone(), declined);
            }
            _ => return Err(Unresumable::Unknown(id.clone())),
        }
        let entry = ResumeEntry {
            interrupt_id: id.clone(),
            status,
            payload: None,
            metadata: None,
            extra: Default::default(),
        };
        Ok((entry, answers))
    }
}
