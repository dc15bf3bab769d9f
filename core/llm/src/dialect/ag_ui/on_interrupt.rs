//! LangGraph's interrupts, as its AG-UI adapter sends them by default: `CUSTOM` events named `on_interrupt`, and then a
//! run that finishes without an outcome. They are read as the interrupt outcome of AG-UI 1.0. The answers are sent in
//! `forwardedProps.command.resume`, where such an agent expects them.
//!
//! Source: `ag-ui-langgraph` 0.0.47, and LangGraph 1.2 for what a resumed graph takes.

use super::fields::text;
use crate::event::{DEEPEST, Interrupt, Metadata, ResumeEntry, ResumeStatus, is_within};
use serde_json::{Map, Value, json};

/// The name of the event, and the mark of the interrupts that are read from it.
pub const ON_INTERRUPT: &str = "on_interrupt";

/// Reads a `CUSTOM` event as an interrupt, if it is one. Also returns its id, which is generated if LangGraph gave
/// none.
pub(super) fn read(
    event: &Map<String, Value>,
    made: impl FnOnce() -> String,
) -> Option<(String, Value)> {
    if text(event, "name") != Some(ON_INTERRUPT) {
        return None;
    }
    let sent = event.get("value")?;
    // A value that is not text in the graph comes as JSON in a text.
    let raw = match sent {
        Value::String(sent) => {
            let read = serde_json::from_str(sent).ok();
            let read = read.filter(|raw| is_within(raw, DEEPEST));
            read.unwrap_or_else(|| json!(sent))
        }
        sent => sent.clone(),
    };
    let asked = raw.as_object();
    let native = event.get("rawEvent").and_then(Value::as_object);
    let word = |names: &[&str]| {
        let mut names = names.iter();
        let found = names.find_map(|name| text(asked?, name));
        found.map(|found| json!(found))
    };
    let schema = asked
        .and_then(|asked| asked.get("responseSchema"))
        .or_else(|| asked?.get("response_schema"))
        .or_else(|| native?.get("response_schema"))
        .filter(|schema| schema.is_object());
    let message = match (asked, sent) {
        (None, Value::String(sent)) => Some(json!(sent)),
        _ => word(&["message"]),
    };
    let native_id = native.and_then(|native| text(native, "id"));
    let native_id = native_id.filter(|id| !id.is_empty());
    let id = native_id.map_or_else(made, str::to_owned);
    let mut mark = Map::new();
    mark.insert("event".to_owned(), json!(ON_INTERRUPT));
    if let Some(id) = native_id {
        mark.insert("id".to_owned(), json!(id));
    }
    mark.insert("raw".to_owned(), raw.clone());
    let fields = [
        ("id", Some(json!(id))),
        (
            "reason",
            word(&["reason"]).or_else(|| Some(json!("langgraph:interrupt"))),
        ),
        ("message", message),
        ("toolCallId", word(&["toolCallId", "tool_call_id"])),
        ("responseSchema", schema.cloned()),
        ("expiresAt", word(&["expiresAt", "expires_at"])),
        ("metadata", Some(json!({ "langgraph": mark }))),
        ("subagentRunId", event.get("subagentRunId").cloned()),
    ];
    let fields = fields.into_iter();
    let there = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some((id, Value::Object(there.collect())))
}

/// Returns the metadata of LangGraph's interrupts and of the answers to them.
fn mark(metadata: Option<&Metadata>) -> Option<&Map<String, Value>> {
    let mark = metadata?.get("langgraph")?.as_object()?;
    (text(mark, "event") == Some(ON_INTERRUPT)).then_some(mark)
}

/// Marks the answers to such interrupts, so that the request sends them where the agent expects them.
pub fn mark_answers(answers: &mut [ResumeEntry], interrupts: &[Interrupt]) {
    for answer in answers {
        let mut interrupts = interrupts.iter();
        let interrupt = interrupts.find(|interrupt| interrupt.id == answer.interrupt_id);
        let Some(mark) = interrupt.and_then(|interrupt| mark(interrupt.metadata.as_ref())) else {
            continue;
        };
        let mut mark = mark.clone();
        mark.shift_remove("raw");
        let metadata = answer.metadata.get_or_insert_default();
        metadata.insert("langgraph".to_owned(), Value::Object(mark));
    }
}

/// Returns the value of `command.resume`, if the answers are to such interrupts: by the ids if LangGraph gave them;
/// otherwise only the first answer, and the agent asks for the others again.
pub(super) fn command(answers: &[ResumeEntry]) -> Option<Value> {
    let marked = answers
        .iter()
        .map(|answer| Some((mark(answer.metadata.as_ref())?, answer)))
        .collect::<Option<Vec<_>>>()?;
    let by_id = marked
        .iter()
        .map(|(mark, answer)| Some((text(mark, "id")?.to_owned(), said(answer))))
        .collect::<Option<Map<_, _>>>();
    let (_, first) = marked.first()?;
    Some(match (by_id, said(first)) {
        (Some(by_id), _) => Value::Object(by_id),
        // The agent reads a text as JSON where it can.
        (None, Value::String(said)) if serde_json::from_str::<Value>(&said).is_ok() => {
            json!(json!(said).to_string())
        }
        (None, said) => said,
    })
}

/// Returns an answer as the graph gets it. Null would mean no answer, and a cancelled interrupt has the adapter's own
/// form.
fn said(answer: &ResumeEntry) -> Value {
    match (answer.status, &answer.payload) {
        (ResumeStatus::Cancelled, _) => {
            json!({ "__agui_cancelled__": true, "interrupt_id": answer.interrupt_id })
        }
        (ResumeStatus::Resolved, None | Some(Value::Null)) => json!(true),
        (ResumeStatus::Resolved, Some(payload)) => payload.clone(),
    }
}
