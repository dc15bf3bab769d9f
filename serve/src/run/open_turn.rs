//! A turn that waits for the user, between the run that asked and the run that brings the answers.

use crate::turn::answers::{Answers, Question, Unresumable};
use crate::turn::asking::Asking;
use crate::turn::questions::Questions;
use crate::turn::rounds::Told;
use crate::turn::shared_state::SharedState;
use stepwell_core::event::{ResumeEntry, TokenUsage};
use stepwell_io::{ToolRegistry, Turn};
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// About how many bytes a turn takes that runs, beside what was said in it.
const RUNNING: usize = 64 << 10;

/// A turn that waits for the user.
#[derive(Debug)]
pub(crate) struct OpenTurn {
    /// The turn itself.
    pub(crate) held: Held,
    /// What is asked; never empty.
    pub(crate) questions: Vec<Question>,
    /// What the turn had cost, which its run has reported.
    pub(crate) usage: TokenUsage,
    /// What its client knows of its calls.
    pub(crate) told: Told,
}

/// How a turn is held that waits for the user.
#[derive(Debug)]
pub(crate) enum Held {
    /// As text, to be revived: none of its tools runs.
    Suspended(String),
    /// As it is: a tool that asks still runs, and goes on with the answer.
    Running(Box<Running>),
    /// It was running, and was stopped when the time for the answers was over.
    Stopped,
}

/// A turn with tools that run, and wait for the user.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) turn: Turn,
    /// Where the answers go.
    pub(crate) questions: Questions,
    /// What its tools ask from here on.
    pub(crate) asked: mpsc::UnboundedReceiver<Asking>,
    /// The state that its tools change.
    pub(crate) state: SharedState,
    /// About how many bytes what was said in it takes.
    pub(crate) size: usize,
    /// Stops it when the time for the answers is over.
    pub(crate) stops: Option<AbortOnDropHandle<()>>,
}

impl OpenTurn {
    /// Whether it can only be cancelled by now.
    pub(crate) fn has_expired(&self, now: OffsetDateTime) -> bool {
        self.questions
            .iter()
            .any(|question| question.has_expired(now))
    }

    /// Reads the answers: one for each question, and no other.
    pub(crate) fn answers(
        &self,
        entries: &[ResumeEntry],
        tools: &ToolRegistry,
        now: OffsetDateTime,
    ) -> Result<Answers, Unresumable> {
        let answers = Answers::read(entries, &self.questions.iter(), tools, now)?;
        let is_answered = |id: &str| entries.iter().any(|entry| entry.interrupt_id == id);
        let mut ids = self.questions.iter().map(|question| &question.interrupt.id);
        match ids.find(|id| !is_answered(id)) {
            Some(id) => Err(Unresumable::Unanswered(id.clone())),
            None => Ok(answers),
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let turn = match &self.held {
            Held::Suspended(snapshot) => snapshot.len(),
            Held::Running(running) => RUNNING + running.size,
            Held::Stopped => 0,
        };
        turn + 1024 * self.questions.len()
    }

    /// When the time for the answers is over.
    pub(crate) fn expires(&self) -> Option<OffsetDateTime> {
        let questions = self.questions.iter();
        questions.filter_map(|question| question.expires).min()
    }

    /// Stops its tools, if any run: it can only be gone on from without it.
    pub(crate) fn stop(&mut self) {
        if matches!(self.held, Held::Running(_)) {
            self.held = Held::Stopped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::answers::Asker;
    use serde_json::{Value, json};
    use stepwell_core::event::Interrupt;
    use stepwell_io::{Decision, Tool};
    use time::Duration;

    const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    fn asked(id: &str, tool: Option<&str>) -> Question {
        Question {
            interrupt: Interrupt {
                id: id.to_owned(),
                tool_call_id: tool.map(|_| format!("call-{id}").into()),
                ..Interrupt::default()
            },
            asker: tool.map_or(Asker::Agent, |tool| Asker::Call(tool.to_owned())),
            expires: Some(NOW + Duration::SECOND),
        }
    }

    fn turn() -> OpenTurn {
        OpenTurn {
            held: Held::Suspended(String::new()),
            questions: vec![asked("a", Some("send")), asked("b", None)],
            usage: TokenUsage::default(),
            told: Told::default(),
        }
    }

    fn answers(entries: Value, now: OffsetDateTime) -> Result<Answers, Unresumable> {
        let entries: Vec<ResumeEntry> = serde_json::from_value(entries).expect("entries");
        let tools = ToolRegistry::new().register(Tool::new("send", "Sends."));
        turn().answers(&entries, &tools.expect("a tool"), now)
    }

    fn yes(id: &str) -> Value {
        json!({"interruptId": id, "status": "resolved", "payload": {"approved": true}})
    }

    fn no(id: &str) -> Value {
        json!({"interruptId": id, "status": "cancelled"})
    }

    #[test]
    fn all_questions_are_answered_at_once() {
        let answers = answers(json!([yes("b"), yes("a")]), NOW).expect("they fit");
        let decided: Vec<_> = answers.decisions.into_iter().collect();
        assert_eq!(decided, [("call-a".into(), Decision::Granted)]);
        assert_eq!(answers.forwarded.len(), 1);
        assert_eq!(answers.forwarded[0].interrupt_id, "b");
    }

    #[test]
    fn answers_that_do_not_fit_the_questions_are_refused() {
        let refused = |entries: Value| answers(entries, NOW).expect_err("they do not fit");
        let id = |id: &str| id.to_owned();
        assert_eq!(refused(json!([yes("a")])), Unresumable::Unanswered(id("b")));
        assert_eq!(
            refused(json!([yes("a"), yes("b"), yes("c")])),
            Unresumable::Unknown(id("c"))
        );
        assert_eq!(
            refused(json!([yes("a"), no("a"), yes("b")])),
            Unresumable::Twice(id("a"))
        );
        let odd = json!({"interruptId": "a", "status": "resolved", "payload": 7});
        assert_eq!(
            refused(json!([odd, yes("b")])).code(),
            "interrupt_answer_invalid"
        );
    }

    #[test]
    fn an_expired_question_can_only_be_cancelled() {
        let later = NOW + Duration::SECOND;
        assert_eq!(
            answers(json!([yes("a"), no("b")]), later),
            Err(Unresumable::Expired("a".to_owned()))
        );
        assert!(answers(json!([no("a"), no("b")]), later).is_ok());
    }
}
