//! Questions to the user: how they are asked, and what an answer means.

use crate::turn::asking::ToolAsks;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stepwell_core::event::{Interrupt, ResumeEntry, ResumeStatus};
use stepwell_core::run::{Question, UserAnswer};
use stepwell_io::tool::{Decision, ToolInvocation, ToolRegistry};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The characters of a call's arguments that a question shows. The call itself has all of them.
const SHOWN: usize = 200;

/// The protocol's own value for a question whose answer a running call needs.
pub(crate) const INPUT_REQUIRED: &str = "input_required";

/// Asks whether a tool may run.
pub(crate) fn approval(
    id: String,
    call: &ToolInvocation,
    tools: &ToolRegistry,
    expires: Option<OffsetDateTime>,
) -> Interrupt {
    let parameters = tools
        .get(&call.name)
        .and_then(|tool| tool.definition.parameters.clone())
        .unwrap_or_else(|| json!({ "type": "object" }));
    Interrupt {
        id,
        // A value of the protocol's own, for a question about one call.
        reason: "tool_call".to_owned(),
        message: Some(format!(
            "May `{}` run with {}?",
            call.name,
            shortened(&call.arguments.raw)
        )),
        tool_call_id: Some(call.tool_call_id.clone()),
        response_schema: object(json!({
            "type": "object",
            "properties": {
                "approved": { "type": "boolean" },
                "reason": { "type": "string", "description": "Why not, for the model to read" },
                "editedArgs": parameters,
            },
            "required": ["approved"],
        })),
        expires_at: expires.and_then(|expires| expires.format(&Rfc3339).ok()),
        ..Interrupt::default()
    }
}

/// Asks what a running tool wants to know.
pub(crate) fn tool_question(
    id: String,
    asks: &ToolAsks,
    expires: Option<OffsetDateTime>,
) -> Interrupt {
    let ToolAsks {
        invocation,
        question,
        ..
    } = asks;
    Interrupt {
        id,
        reason: INPUT_REQUIRED.to_owned(),
        message: Some(question.message.clone()),
        tool_call_id: Some(invocation.tool_call_id.clone()),
        response_schema: Some(asks.response_schema()),
        expires_at: expires.and_then(|expires| expires.format(&Rfc3339).ok()),
        ..Interrupt::default()
    }
}

fn shortened(arguments: &str) -> String {
    match arguments.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &arguments[..end]),
        None if arguments.trim().is_empty() => "{}".to_owned(),
        None => arguments.to_owned(),
    }
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// An answer to [`approval`]. Fields that it does not know are passed over.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Approval {
    approved: bool,
    reason: Option<String>,
    edited_args: Option<Map<String, Value>>,
}

/// Returns the decision that an answer holds about a call of the tool `name`.
///
/// # Errors
/// The answer cannot be understood, or gives arguments that do not fit the tool.
pub(crate) fn decision(
    entry: &ResumeEntry,
    name: &str,
    tools: &ToolRegistry,
) -> Result<Decision, String> {
    if entry.status == ResumeStatus::Cancelled {
        let reason = Some("the question was waved away".to_owned());
        return Ok(Decision::Denied { reason });
    }
    let payload = entry.payload.clone().unwrap_or(Value::Null);
    let approval: Approval = serde_json::from_value(payload).map_err(|error| {
        format!("the payload is not as the interrupt's responseSchema has it: {error}")
    })?;
    match approval {
        Approval {
            approved: false,
            reason,
            ..
        } => Ok(Decision::Denied { reason }),
        Approval {
            edited_args: None, ..
        } => Ok(Decision::Granted),
        Approval {
            edited_args: Some(arguments),
            ..
        } => {
            let arguments = Value::Object(arguments).to_string();
            tools
                .check(name, &arguments)
                .map_err(|misfit| format!("editedArgs: {misfit}"))?;
            Ok(Decision::Edited { arguments })
        }
    }
}

/// Returns the answer to the question of a running tool, whose time may be over.
///
/// # Errors
/// The answer does not fit the question.
pub(crate) fn tool_answer(
    entry: &ResumeEntry,
    question: &Question,
    is_late: bool,
) -> Result<UserAnswer, String> {
    if entry.status == ResumeStatus::Cancelled {
        return Ok(UserAnswer::declined(match is_late {
            true => "the user was asked, and did not answer in time",
            false => "the user would not answer",
        }));
    }
    let value = entry.payload.clone().unwrap_or(Value::Null);
    question
        .check(&value)
        .map_err(|misfit| format!("the payload is not as the responseSchema has it: {misfit}"))?;
    Ok(UserAnswer::Given { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_io::tool::Tool;

    fn tools() -> ToolRegistry {
        let tool = Tool::new("send", "Sends.").parameters(json!({
            "type": "object",
            "properties": { "to": { "type": "string" } },
            "required": ["to"],
        }));
        ToolRegistry::new().register(tool).expect("a tool")
    }

    fn decided(entry: Value) -> Result<Decision, String> {
        let mut entry = entry;
        entry["interruptId"] = json!("i");
        let entry = serde_json::from_value(entry).expect("an entry");
        decision(&entry, "send", &tools())
    }

    #[test]
    fn an_answer_allows_denies_or_edits() {
        let resolved = |payload| decided(json!({"status": "resolved", "payload": payload}));
        assert_eq!(resolved(json!({"approved": true})), Ok(Decision::Granted));
        assert_eq!(
            resolved(json!({"approved": false, "reason": "no"})),
            Ok(Decision::Denied {
                reason: Some("no".to_owned())
            })
        );
        assert_eq!(
            resolved(json!({"approved": true, "editedArgs": {"to": "b"}})),
            Ok(Decision::Edited {
                arguments: r#"{"to":"b"}"#.to_owned()
            })
        );
        let waved = decided(json!({"status": "cancelled"}));
        assert!(matches!(waved, Ok(Decision::Denied { .. })));
    }

    #[test]
    fn a_tool_gets_a_valid_payload_or_the_reason_for_none() {
        let question = Question::choice("How fast?", ["today", "later"]);
        let answer = |mut entry: Value, is_late| {
            entry["interruptId"] = json!("i");
            let entry = serde_json::from_value(entry).expect("an entry");
            tool_answer(&entry, &question, is_late)
        };
        let given = |payload: &str| {
            let entry = json!({"status": "resolved", "payload": payload});
            answer(entry, false)
        };
        assert_eq!(given("today"), Ok(UserAnswer::given("today")));
        let misfit = given("never").expect_err("it does not fit");
        assert!(misfit.contains("responseSchema"), "{misfit}");
        assert!(answer(json!({"status": "resolved"}), false).is_err());
        let declined = |is_late| match answer(json!({"status": "cancelled"}), is_late) {
            Ok(UserAnswer::Declined { reason }) => reason.expect("a reason"),
            other => panic!("{other:?}"),
        };
        assert!(declined(false).contains("would not"));
        assert!(declined(true).contains("in time"));
    }

    #[test]
    fn a_schema_of_another_type_is_sent_as_an_object() {
        let told = |schema: Value| {
            let asks = ToolAsks {
                invocation: ToolInvocation::new("send", json!({})),
                number: 0,
                question: Question::new("What?", schema),
            };
            let interrupt = tool_question("i".to_owned(), &asks, None);
            Value::from(interrupt.response_schema.expect("a schema"))
        };
        assert_eq!(told(json!(true)), json!({}));
        assert_eq!(told(json!(false)), json!({"not": {}}));
        assert_eq!(told(json!({"type": "null"})), json!({"type": "null"}));
    }

    #[test]
    fn an_answer_that_says_nothing_is_none() {
        for payload in [
            json!({}),
            json!("yes"),
            json!({"approved": "yes"}),
            json!({"approved": true, "editedArgs": {"to": 7}}),
            json!({"approved": true, "editedArgs": "to b"}),
        ] {
            let answer = decided(json!({"status": "resolved", "payload": payload}));
            assert!(answer.is_err(), "{answer:?}");
        }
        assert!(decided(json!({"status": "resolved"})).is_err());
    }
}
