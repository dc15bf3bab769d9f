//! What a turn asks the user, until they have answered.

use crate::turn::answers::{Answers, Asker, Question, Unresumable};
use crate::turn::asking::ToolAsks;
use crate::turn::interrupts;
use std::collections::HashMap;
use std::time::Duration;
use stepwell_core::event::{Interrupt, ResumeEntry, ResumeStatus};
use stepwell_core::run::{EffectId, UserAnswer};
use stepwell_core::{CallKey, ToolCallId};
use stepwell_io::store::Reply;
use stepwell_io::tool::{Decision, ToolInvocation, ToolRegistry};
use time::OffsetDateTime;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A question that is open.
#[derive(Debug)]
struct OpenQuestion {
    question: Question,
    /// When the question expires, for the clock; approvals expire in the turn itself.
    lapses: Option<Instant>,
    /// The receiver of the answer; none if the agent behind the server asks.
    waits: Option<AnswerReceiver>,
}

/// The receiver of an answer.
#[derive(Debug)]
enum AnswerReceiver {
    /// A call that asks to run.
    Call(CallKey, oneshot::Sender<Decision>),
    /// A running tool, with its question of this number.
    Tool(CallKey, u32, oneshot::Sender<UserAnswer>),
}

impl AnswerReceiver {
    fn effect(&self) -> EffectId {
        match self {
            Self::Call(call, _) => EffectId::Approve(*call),
            Self::Tool(call, number, _) => EffectId::Ask {
                call: *call,
                number: *number,
            },
        }
    }

    fn call(&self) -> CallKey {
        match self {
            Self::Call(call, _) | Self::Tool(call, ..) => *call,
        }
    }
}

/// The questions that are open.
#[derive(Debug, Default)]
pub(crate) struct Questions(Vec<OpenQuestion>);

/// The id and the expiry of a question.
#[derive(Debug)]
pub(crate) struct QuestionHead {
    /// Its id.
    pub id: String,
    /// When the question expires.
    pub expires: Option<OffsetDateTime>,
}

impl Questions {
    /// Opens the question whether a tool may run. Returns the question as it is reported.
    pub(crate) fn ask(
        &mut self,
        invocation: ToolInvocation,
        answer: oneshot::Sender<Decision>,
        tools: &ToolRegistry,
        asked: QuestionHead,
    ) -> Interrupt {
        let QuestionHead { id, expires } = asked;
        let interrupt = interrupts::approval(id, &invocation, tools, expires);
        let question = Question {
            interrupt: interrupt.clone(),
            asker: Asker::Call(invocation.name),
            expires,
        };
        self.open(
            question,
            Some(AnswerReceiver::Call(invocation.call, answer)),
        );
        interrupt
    }

    /// Opens the question of a running tool. Returns the question as it is reported.
    pub(crate) fn ask_for_tool(
        &mut self,
        asks: ToolAsks,
        answer: oneshot::Sender<UserAnswer>,
        asked: QuestionHead,
    ) -> Interrupt {
        let QuestionHead { id, expires } = asked;
        let interrupt = interrupts::tool_question(id, &asks, expires);
        let ToolAsks {
            invocation,
            number,
            question,
        } = asks;
        let question = Question {
            interrupt: interrupt.clone(),
            asker: Asker::RunningTool(question),
            expires,
        };
        self.open(
            question,
            Some(AnswerReceiver::Tool(invocation.call, number, answer)),
        );
        interrupt
    }

    /// Handles a question of the agent behind the server.
    pub(crate) fn ask_for_agent(&mut self, interrupt: Interrupt, expires: Option<OffsetDateTime>) {
        let question = Question {
            interrupt,
            asker: Asker::Agent,
            expires,
        };
        self.open(question, None);
    }

    fn open(&mut self, question: Question, waits: Option<AnswerReceiver>) {
        let is_approval = matches!(question.asker, Asker::Call(_));
        let expires = question.expires.filter(|_| !is_approval);
        let left = expires.map(|expires| {
            let left = expires - OffsetDateTime::now_utc();
            Duration::try_from(left).unwrap_or_default()
        });
        // The turn may ask the same question again.
        self.0
            .retain(|open| open.question.interrupt.id != question.interrupt.id);
        self.0.push(OpenQuestion {
            question,
            lapses: left.and_then(|left| Instant::now().checked_add(left)),
            waits,
        });
    }

    /// Returns whether no question is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the agent behind the server asks something.
    pub(crate) fn has_agents(&self) -> bool {
        self.0.iter().any(|open| open.waits.is_none())
    }

    /// Returns the number of questions about calls: whether they may run, and what running tools ask.
    pub(crate) fn of_calls(&self) -> usize {
        self.0.iter().filter(|open| open.waits.is_some()).count()
    }

    /// Returns whether a running tool asks something.
    pub(crate) fn has_tools(&self) -> bool {
        let mut waits = self.0.iter().filter_map(|open| open.waits.as_ref());
        waits.any(|waits| matches!(waits, AnswerReceiver::Tool(..)))
    }

    /// Returns whether the question of this id is open.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.0.iter().any(|open| open.question.interrupt.id == id)
    }

    /// Returns whether the call waits for an answer.
    pub(crate) fn has(&self, call: &ToolCallId) -> bool {
        let mut open = self.0.iter().map(|open| &open.question.interrupt);
        open.any(|interrupt| interrupt.tool_call_id.as_ref() == Some(call))
    }

    /// Returns the open questions: those of calls in the order of the calls.
    pub(crate) fn to_vec(&self) -> Vec<Question> {
        let call = |open: &&OpenQuestion| open.waits.as_ref().map(AnswerReceiver::call);
        let mut open: Vec<_> = self.0.iter().collect();
        open.sort_by_key(|open| (call(open).is_none(), call(open)));
        open.into_iter().map(|open| open.question.clone()).collect()
    }

    /// Returns when the next question expires.
    pub(crate) fn next_lapse(&self) -> Option<Instant> {
        self.0.iter().filter_map(|open| open.lapses).min()
    }

    /// Says no to those that have lapsed.
    pub(crate) fn lapsed(&self, now: Instant) -> Vec<ResumeEntry> {
        let has_lapsed = |open: &&OpenQuestion| open.lapses.is_some_and(|lapses| lapses <= now);
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
    pub(crate) fn read(
        &self,
        entries: &[ResumeEntry],
        tools: &ToolRegistry,
    ) -> Result<Answers, Unresumable> {
        let questions = self.0.iter().map(|open| &open.question);
        Answers::read(entries, &questions, tools, OffsetDateTime::now_utc())
    }

    /// Reads the reply that a conversation gives to an open question.
    pub(crate) fn read_reply(
        &self,
        id: &str,
        reply: Reply,
        tools: &ToolRegistry,
    ) -> Result<(ResumeEntry, Answers), Unresumable> {
        let unknown = || Unresumable::Unknown(id.to_owned());
        let mut questions = self.0.iter().map(|open| &open.question);
        let question = questions.find(|question| question.interrupt.id == id);
        Answers::of_reply(question.ok_or_else(unknown)?, reply, tools)
    }

    /// Closes the questions that `answers` answer, and notifies those that wait for them. Returns the effects that
    /// waited, by the id of their question.
    pub(crate) fn close(
        &mut self,
        answers: &[ResumeEntry],
        read: &mut Answers,
    ) -> HashMap<String, EffectId> {
        let is_answered = |open: &OpenQuestion| {
            let mut answers = answers.iter();
            answers.any(|answer| answer.interrupt_id == open.question.interrupt.id)
        };
        let open = std::mem::take(&mut self.0);
        let (closed, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_answered);
        self.0 = rest;
        let mut heard = HashMap::new();
        for open in closed {
            let Some(waits) = open.waits else {
                continue;
            };
            let effect = waits.effect();
            let Interrupt {
                id, tool_call_id, ..
            } = open.question.interrupt;
            let has_heard = match waits {
                AnswerReceiver::Call(_, sender) => {
                    let decision = tool_call_id.and_then(|call| read.decisions.remove(&call));
                    decision.is_some_and(|decision| sender.send(decision).is_ok())
                }
                AnswerReceiver::Tool(_, _, sender) => {
                    let answer = read.given.remove(&id);
                    answer.is_some_and(|answer| sender.send(answer).is_ok())
                }
            };
            if has_heard {
                heard.insert(id, effect);
            }
        }
        heard
    }

    /// Withdraws a question. Returns its id, if it was open.
    pub(crate) fn withdraw(&mut self, effect: EffectId) -> Option<String> {
        let is_it =
            |open: &OpenQuestion| open.waits.as_ref().map(AnswerReceiver::effect) == Some(effect);
        let at = self.0.iter().position(is_it)?;
        Some(self.0.remove(at).question.interrupt.id)
    }

    /// A call is over, or the user stopped it: nothing is asked about it any more. The ids of its questions.
    pub(crate) fn withdraw_call(&mut self, call: &ToolCallId) -> Vec<String> {
        let is_of_it =
            |open: &mut OpenQuestion| open.question.interrupt.tool_call_id.as_ref() == Some(call);
        let withdrawn = self.0.extract_if(.., is_of_it);
        withdrawn.map(|open| open.question.interrupt.id).collect()
    }
}
