//! A turn that waits for the person, between the run that asked and the run that brings the answers.

use super::interrupts;
use std::collections::{HashMap, HashSet};
use stepwell_core::ToolCallId;
use stepwell_core::event::{Interrupt, ResumeEntry, ResumeStatus, TokenUsage};
use stepwell_io::{Decision, ToolCallStatus, ToolRegistry};
use time::OffsetDateTime;

/// A turn that waits for the person.
#[derive(Debug)]
pub(super) struct OpenTurn {
    /// The turn itself, to be revived.
    pub(super) snapshot: String,
    /// What is asked; never empty.
    pub(super) questions: Vec<Question>,
    /// When the questions lapse.
    pub(super) expires: Option<OffsetDateTime>,
    /// What the turn had cost, which its run has reported.
    pub(super) usage: TokenUsage,
    /// Where its calls stood.
    pub(super) seen: HashMap<ToolCallId, ToolCallStatus>,
    /// The calls whose results the client has.
    pub(super) reported: HashSet<ToolCallId>,
}

/// One question.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) interrupt: Interrupt,
    /// The tool that asks to run; absent if the agent behind the server asks.
    pub(super) tool: Option<String>,
}

/// What the person said, to all questions.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answers {
    /// To the server's own questions, by the call.
    pub(super) decisions: HashMap<ToolCallId, Decision>,
    /// To those of the agent behind the server.
    pub(super) forwarded: Vec<ResumeEntry>,
}

/// Why a run cannot go on from a thread's questions. They stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unresumable {
    #[error(
        "the thread has open questions: answer or cancel each in `resume` (open: {})", .0.join(", ")
    )]
    Open(Vec<String>),
    #[error("no interrupt `{0}` is open on this thread: it was answered, or never asked")]
    Unknown(String),
    #[error("the interrupt `{0}` is answered twice")]
    Twice(String),
    #[error("the interrupt `{0}` has no answer: `resume` answers or cancels all of them at once")]
    Unanswered(String),
    #[error("the interrupt `{0}` has expired: it can only be cancelled")]
    Expired(String),
    #[error("the answer to the interrupt `{id}` does not fit: {reason}")]
    Payload { id: String, reason: String },
}

impl Unresumable {
    pub(super) fn code(&self) -> &'static str {
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

impl OpenTurn {
    pub(super) fn has_expired(&self, now: OffsetDateTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Reads the answers: one for each question, and no other.
    pub(super) fn answers(
        &self,
        entries: &[ResumeEntry],
        tools: &ToolRegistry,
        now: OffsetDateTime,
    ) -> Result<Answers, Unresumable> {
        let mut answers = Answers::default();
        for (index, entry) in entries.iter().enumerate() {
            let id = &entry.interrupt_id;
            let mut questions = self.questions.iter();
            let question = questions.find(|question| question.interrupt.id == *id);
            let question = question.ok_or_else(|| Unresumable::Unknown(id.clone()))?;
            if entries[..index]
                .iter()
                .any(|earlier| earlier.interrupt_id == *id)
            {
                return Err(Unresumable::Twice(id.clone()));
            }
            if entry.status == ResumeStatus::Resolved && self.has_expired(now) {
                return Err(Unresumable::Expired(id.clone()));
            }
            match (&question.tool, &question.interrupt.tool_call_id) {
                (Some(tool), Some(call)) => {
                    let decision = interrupts::decision(entry, tool, tools);
                    let decision = decision.map_err(|reason| Unresumable::Payload {
                        id: id.clone(),
                        reason,
                    })?;
                    answers.decisions.insert(call.clone(), decision);
                }
                _ => answers.forwarded.push(entry.clone()),
            }
        }
        let is_answered = |id: &str| entries.iter().any(|entry| entry.interrupt_id == id);
        let mut ids = self.questions.iter().map(|question| &question.interrupt.id);
        match ids.find(|id| !is_answered(id)) {
            Some(id) => Err(Unresumable::Unanswered(id.clone())),
            None => Ok(answers),
        }
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.snapshot.len() + 1024 * self.questions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use stepwell_io::Tool;
    use time::Duration;

    const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    fn asked(id: &str, tool: Option<&str>) -> Question {
        Question {
            interrupt: Interrupt {
                id: id.to_owned(),
                tool_call_id: tool.map(|_| format!("call-{id}").into()),
                ..Interrupt::default()
            },
            tool: tool.map(str::to_owned),
        }
    }

    fn turn() -> OpenTurn {
        OpenTurn {
            snapshot: String::new(),
            questions: vec![asked("a", Some("send")), asked("b", None)],
            expires: Some(NOW + Duration::SECOND),
            usage: TokenUsage::default(),
            seen: HashMap::new(),
            reported: HashSet::new(),
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
