//! What a stored turn asks the person, until they have answered.

use super::super::interrupts;
use super::super::open_turn::Unresumable;
use stepwell_core::event::{Interrupt, ResumeEntry};
use stepwell_io::{Decision, ToolInvocation, ToolRegistry};
use time::OffsetDateTime;
use tokio::sync::oneshot;

/// A tool that asks to run, and where the decision goes.
pub(super) type Asking = (ToolInvocation, oneshot::Sender<Decision>);

/// A question to the person.
#[derive(Debug)]
struct Question {
    interrupt: Interrupt,
    /// The tool that asks to run, and where its answer goes; none if the agent behind the server asks.
    asking: Option<(String, oneshot::Sender<Decision>)>,
}

/// The questions that are open.
#[derive(Debug, Default)]
pub(super) struct Questions(Vec<Question>);

/// Answers that fit.
#[derive(Debug)]
pub(super) struct Fitting {
    /// In the order of the open questions that they are to; none to a question of the agent's.
    decisions: Vec<Option<Decision>>,
    /// For the agent behind the server.
    pub(super) forwarded: Vec<ResumeEntry>,
}

impl Questions {
    /// A tool asks to run: the question as it is told.
    pub(super) fn ask(
        &mut self,
        (invocation, answer): Asking,
        tools: &ToolRegistry,
        expires: Option<OffsetDateTime>,
    ) -> Interrupt {
        let mut interrupt = interrupts::question(&invocation, tools, expires);
        // The same after a restart.
        interrupt.id = format!("interrupt-{}", invocation.tool_call_id);
        self.0.push(Question {
            interrupt: interrupt.clone(),
            asking: Some((invocation.name, answer)),
        });
        interrupt
    }

    /// The agent behind the server asks.
    pub(super) fn ask_for_agent(&mut self, interrupt: Interrupt) {
        self.0.push(Question {
            interrupt,
            asking: None,
        });
    }

    /// Reads answers, to some of the open questions or to all.
    pub(super) fn fit(
        &self,
        answers: &[ResumeEntry],
        tools: &ToolRegistry,
    ) -> Result<Fitting, Unresumable> {
        for (index, answer) in answers.iter().enumerate() {
            let id = &answer.interrupt_id;
            if !self.0.iter().any(|open| open.interrupt.id == *id) {
                return Err(Unresumable::Unknown(id.clone()));
            }
            let mut earlier = answers[..index].iter();
            if earlier.any(|earlier| earlier.interrupt_id == *id) {
                return Err(Unresumable::Twice(id.clone()));
            }
        }
        let mut fitting = Fitting {
            decisions: Vec::new(),
            forwarded: Vec::new(),
        };
        for open in &self.0 {
            let id = &open.interrupt.id;
            let Some(answer) = answers.iter().find(|answer| answer.interrupt_id == *id) else {
                continue;
            };
            match &open.asking {
                Some((tool, _)) => {
                    let decision = interrupts::decision(answer, tool, tools);
                    let decision = decision.map_err(|reason| Unresumable::Payload {
                        id: id.clone(),
                        reason,
                    })?;
                    fitting.decisions.push(Some(decision));
                }
                None => {
                    fitting.decisions.push(None);
                    fitting.forwarded.push(answer.clone());
                }
            }
        }
        Ok(fitting)
    }

    /// Closes the questions that `answers` are to, and hands the decisions on.
    pub(super) fn close(&mut self, answers: &[ResumeEntry], fitting: Fitting) {
        let is_answered = |open: &Question| {
            let mut answers = answers.iter();
            answers.any(|answer| answer.interrupt_id == open.interrupt.id)
        };
        let open = std::mem::take(&mut self.0);
        let (closed, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_answered);
        self.0 = rest;
        for (question, decision) in closed.into_iter().zip(fitting.decisions) {
            if let (Some((_, sender)), Some(decision)) = (question.asking, decision) {
                let _ = sender.send(decision);
            }
        }
    }
}
