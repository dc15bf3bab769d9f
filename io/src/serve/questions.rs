//! What a turn asks the user, until they have answered.

use super::answers::{Answers, Question, Unresumable};
use super::interrupts;
use crate::{Approver, Decision, ToolInvocation, ToolRegistry};
use std::collections::HashMap;
use std::time::Duration;
use stepwell_core::event::{Interrupt, ResumeEntry, ResumeStatus};
use stepwell_core::{CallKey, ToolCallId};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// A tool that asks to run, and where the decision goes. It is boxed since each run has a queue with room for many.
pub type Asking = (Box<ToolInvocation>, oneshot::Sender<Decision>);

/// A question that is open.
#[derive(Debug)]
struct Open {
    question: Question,
    /// When it lapses, for the clock; that of a tool is the turn's own business.
    lapses: Option<Instant>,
    /// The call that asks to run, and where its answer goes; none if the agent behind the server asks.
    asking: Option<(CallKey, oneshot::Sender<Decision>)>,
}

/// The questions that are open.
#[derive(Debug, Default)]
pub struct Questions(Vec<Open>);

/// How a question is asked.
#[derive(Debug)]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// When it lapses.
    pub expires: Option<OffsetDateTime>,
}

impl Questions {
    /// A tool asks to run: the question as it is told.
    pub fn ask(
        &mut self,
        (invocation, answer): Asking,
        tools: &ToolRegistry,
        asked: Asked,
    ) -> Interrupt {
        let Asked { id, expires } = asked;
        let interrupt = interrupts::question(id, &invocation, tools, expires);
        let question = Question {
            interrupt: interrupt.clone(),
            tool: Some(invocation.name),
            expires,
        };
        self.open(question, Some((invocation.call, answer)));
        interrupt
    }

    /// The agent behind the server asks.
    pub fn ask_for_agent(&mut self, interrupt: Interrupt, expires: Option<OffsetDateTime>) {
        let question = Question {
            interrupt,
            tool: None,
            expires,
        };
        self.open(question, None);
    }

    fn open(&mut self, question: Question, asking: Option<(CallKey, oneshot::Sender<Decision>)>) {
        let expires = question.expires.filter(|_| asking.is_none());
        let left = expires.map(|expires| {
            let left = expires - OffsetDateTime::now_utc();
            Duration::try_from(left).unwrap_or_default()
        });
        // The same question again, of a turn that has asked anew.
        self.0
            .retain(|open| open.question.interrupt.id != question.interrupt.id);
        self.0.push(Open {
            question,
            lapses: left.and_then(|left| Instant::now().checked_add(left)),
            asking,
        });
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the agent behind the server asks something.
    pub fn has_agents(&self) -> bool {
        self.0.iter().any(|open| open.asking.is_none())
    }

    /// Whether the question of this id is open.
    pub fn has_id(&self, id: &str) -> bool {
        self.0.iter().any(|open| open.question.interrupt.id == id)
    }

    /// Whether the call waits for an answer.
    pub fn has(&self, call: &ToolCallId) -> bool {
        let mut open = self.0.iter().map(|open| &open.question.interrupt);
        open.any(|interrupt| interrupt.tool_call_id.as_ref() == Some(call))
    }

    /// The questions as they stand: those of tools in the order of their calls.
    pub fn to_vec(&self) -> Vec<Question> {
        let call = |open: &&Open| open.asking.as_ref().map(|(call, _)| *call);
        let mut open: Vec<_> = self.0.iter().collect();
        open.sort_by_key(|open| (call(open).is_none(), call(open)));
        open.into_iter().map(|open| open.question.clone()).collect()
    }

    /// When the next one lapses.
    pub fn next_lapse(&self) -> Option<Instant> {
        self.0.iter().filter_map(|open| open.lapses).min()
    }

    /// Says no to those that have lapsed.
    pub fn lapsed(&self, now: Instant) -> Vec<ResumeEntry> {
        let has_lapsed = |open: &&Open| open.lapses.is_some_and(|lapses| lapses <= now);
        let lapsed = self.0.iter().filter(has_lapsed);
        let entries = lapsed.map(|open| ResumeEntry {
            interrupt_id: open.question.interrupt.id.clone(),
            status: ResumeStatus::Cancelled,
            payload: None,
            metadata: None,
            extra: Default::default(),
        });
        entries.collect()
    }

    /// Reads answers, to some of the open questions or to all.
    pub fn read(
        &self,
        entries: &[ResumeEntry],
        tools: &ToolRegistry,
    ) -> Result<Answers, Unresumable> {
        let questions = self.0.iter().map(|open| &open.question);
        Answers::read(entries, &questions, tools, OffsetDateTime::now_utc())
    }

    /// Nothing more is asked of what `answers` are to: whoever waits for a decision hears it. Gives the calls that do, by
    /// the id of their question.
    pub fn close(
        &mut self,
        answers: &[ResumeEntry],
        read: &mut Answers,
    ) -> HashMap<String, CallKey> {
        let is_answered = |open: &Open| {
            let mut answers = answers.iter();
            answers.any(|answer| answer.interrupt_id == open.question.interrupt.id)
        };
        let open = std::mem::take(&mut self.0);
        let (closed, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_answered);
        self.0 = rest;
        let mut decided = HashMap::new();
        for open in closed {
            let Interrupt {
                id, tool_call_id, ..
            } = open.question.interrupt;
            let decision = tool_call_id.and_then(|call| read.decisions.remove(&call));
            if let (Some((call, sender)), Some(decision)) = (open.asking, decision)
                && sender.send(decision).is_ok()
            {
                decided.insert(id, call);
            }
        }
        decided
    }

    /// A call is over, or the user stopped it: nothing is asked about it any more. Its question's id, if there is one.
    pub fn withdraw(&mut self, call: &ToolCallId) -> Option<String> {
        let is_of_it = |open: &Open| open.question.interrupt.tool_call_id.as_ref() == Some(call);
        let at = self.0.iter().position(is_of_it)?;
        Some(self.0.remove(at).question.interrupt.id)
    }
}

/// Puts what tools ask to the user into a queue, and waits for the decision.
pub fn approver(asking: mpsc::UnboundedSender<Asking>) -> impl Approver {
    move |invocation: ToolInvocation| {
        let (sender, decided) = oneshot::channel();
        let is_asked = asking.send((Box::new(invocation), sender)).is_ok();
        async move {
            match decided.await {
                Ok(decision) if is_asked => decision,
                // Nobody is there to ask: the turn is about to be let go of.
                _ => std::future::pending().await,
            }
        }
    }
}
