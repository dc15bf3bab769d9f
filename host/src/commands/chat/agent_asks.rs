//! Questions of an AG-UI agent in a chat, instead of an answer or within it.

use super::asking::{Reply, ask_until_valid, hint, read_answer};
use super::prompt::Prompt;
use serde_json::{Value, json};
use stepwell_demo::terminal::{Shown, revealed};
use stepwell_demo::{Failure, one_line};
use stepwell_io::message::{Interrupt, ResumeEntry, ResumeStatus};
use stepwell_io::tool::Question;

/// The number of times that an agent may ask in a pipe before its turn is cancelled.
const MAX_REFUSALS: u32 = 1;

/// Asks the user one question after the other. Returns `None` if the user stops the turn instead.
pub(super) async fn answer(
    interrupts: Vec<Interrupt>,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<Option<Vec<ResumeEntry>>, Failure> {
    let mut answers = Vec::new();
    for interrupt in interrupts {
        let question = question(&interrupt);
        shown.tool_asks("the agent", &question.message)?;
        let hint = match is_approval(&question) {
            true => Some("yes or no".to_owned()),
            false => hint(&question),
        };
        if let Some(hint) = hint {
            shown.remark(&hint)?;
        }
        let payload = match ask_until_valid(|line| read(&question, line), prompt, shown).await? {
            Reply::Value(value) => Some(value),
            Reply::Declined | Reply::End => None,
            Reply::Stop => return Ok(None),
        };
        answers.push(entry(interrupt, payload));
    }
    Ok(Some(answers))
}

/// Answers an agent in a pipe, whose lines are for the model, that there is no answer. Returns `None` after
/// [`MAX_REFUSALS`], so that the turn ends.
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

/// Returns whether the question asks for an approval, in the form of Stepwell's own servers.
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
    fn approval_is_answered_by_yes_or_no() {
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
    fn question_without_schema_accepts_any_text() {
        let interrupt = json!({"id": "i", "reason": "input_required"});
        let question = question(&serde_json::from_value(interrupt).expect("one"));
        assert_eq!(question.message, "input_required");
        assert_eq!(read(&question, "Bergen"), Ok(json!("Bergen")));
    }
}
