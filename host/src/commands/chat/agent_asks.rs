//! What an AG-UI agent asks in a chat, in the place of an answer or in the middle of it.

use super::asking::{choices, read_answer};
use crate::prompt::{Line, Prompt};
use serde_json::{Value, json};
use stepwell_demo::terminal::{Shown, revealed};
use stepwell_demo::{Failure, one_line};
use stepwell_io::{Interrupt, Question, ResumeEntry, ResumeStatus};

/// How often an agent may ask in a pipe before its turn is cancelled.
const MAX_REFUSALS: u32 = 1;

/// Asks the user one question after the other. `None` if the user stops the turn instead.
pub(super) async fn answer(
    interrupts: Vec<Interrupt>,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<Option<Vec<ResumeEntry>>, Failure> {
    let mut answers = Vec::new();
    for interrupt in interrupts {
        let question = question(&interrupt);
        shown.tool_asks("the agent", &question.message)?;
        let hint = if is_approval(&question) {
            "yes or no".to_owned()
        } else {
            choices(&question)
        };
        if !hint.is_empty() {
            shown.remark(&hint)?;
        }
        let payload = loop {
            match prompt.ask("answer (empty: none) › ", "").await {
                Line::Text(text) if text.trim().is_empty() => break None,
                Line::Text(text) => match read(&question, &text) {
                    Ok(value) => break Some(value),
                    Err(misfit) => shown.remark(&format!("that does not fit: {misfit}"))?,
                },
                Line::Interrupted => return Ok(None),
                Line::End => break None,
                Line::Failed(reason) => {
                    return Err(Failure::failed(format!("standard input: {reason}")));
                }
            }
        };
        answers.push(entry(interrupt, payload));
    }
    Ok(Some(answers))
}

/// Tells the agent that nobody answers, for a pipe: its lines are for the model, not for what an agent wants to know.
/// `None` if it was told so often that the turn ends.
pub(super) fn refuse(interrupts: Vec<Interrupt>, times: u32) -> Option<Vec<ResumeEntry>> {
    for interrupt in &interrupts {
        let asked = revealed(&question(interrupt).message).to_string();
        let what = if times > MAX_REFUSALS {
            "it is the same again, so the turn is cancelled"
        } else {
            "it is told that there is no answer"
        };
        eprintln!(
            "stepwell: the agent asks `{}`, which nobody can answer in a pipe: {what}",
            one_line(asked)
        );
    }
    let answers = interrupts.into_iter().map(|asked| entry(asked, None));
    (times <= MAX_REFUSALS).then(|| answers.collect())
}

fn question(interrupt: &Interrupt) -> Question {
    let message = interrupt.message.as_ref().unwrap_or(&interrupt.reason);
    let schema = interrupt.response_schema.as_ref();
    Question::new(
        message,
        schema.map_or(Value::Bool(true), |schema| json!(schema)),
    )
}

/// Whether the question is answered by allowing something, as Stepwell's own servers ask.
fn is_approval(question: &Question) -> bool {
    let is = |approved: bool| question.check(&json!({ "approved": approved })).is_ok();
    let schema = &question.schema;
    schema["properties"]["approved"].is_object() && is(true) && is(false)
}

fn read(question: &Question, line: &str) -> Result<Value, String> {
    if is_approval(question) {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(json!({ "approved": true })),
            "n" | "no" => return Ok(json!({ "approved": false })),
            _ => {}
        }
    }
    read_answer(question, line)
}

fn entry(interrupt: Interrupt, payload: Option<Value>) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: interrupt.id,
        status: match payload {
            Some(_) => ResumeStatus::Resolved,
            None => ResumeStatus::Cancelled,
        },
        payload,
        metadata: None,
        extra: stepwell_core::event::Metadata::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(schema: &Value) -> Question {
        let interrupt = json!({"id": "i", "reason": "tool_call", "message": "Order it?", "responseSchema": schema});
        question(&serde_json::from_value(interrupt).expect("one"))
    }

    #[test]
    fn an_approval_is_answered_by_yes_or_no() {
        let approval = asked(&json!({
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
            "required": ["approved"],
        }));
        assert_eq!(read(&approval, " Yes "), Ok(json!({"approved": true})));
        assert_eq!(read(&approval, "n"), Ok(json!({"approved": false})));
        let whole = r#"{"approved": false, "reason": "no"}"#;
        assert_eq!(
            read(&approval, whole),
            Ok(json!({"approved": false, "reason": "no"}))
        );
        assert!(read(&approval, "perhaps").is_err());
        assert_eq!(read(&asked(&json!({"type": "integer"})), "7"), Ok(json!(7)));
    }

    #[test]
    fn a_question_without_a_schema_takes_any_text() {
        let interrupt = json!({"id": "i", "reason": "input_required"});
        let question = question(&serde_json::from_value(interrupt).expect("one"));
        assert_eq!(question.message, "input_required");
        assert_eq!(read(&question, "Bergen"), Ok(json!("Bergen")));
    }
}
