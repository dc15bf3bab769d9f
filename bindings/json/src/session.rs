use crate::context::Overflow;
use crate::history::{StoredTurns, unfit};
use crate::machine::{guard, written_answer};
use crate::media::NewPart;
use crate::read::{read, read_call};
use crate::refused::Refused;
use serde::Deserialize;
use serde_json::{Value, json};
use stepwell_core::event::Message;
use stepwell_core::run::{self, Failure};
use stepwell_core::session::{Turn, pending, title};
use stepwell_ffi::{Outcome, TurnRecord};

/// A call of a host without a run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Call {
    Transcript(StoredTurns),
    Pending { turn: Box<TurnRecord> },
    Title { messages: Vec<Message> },
    NotStored { message: String },
    NoInstructions { message: String },
    ToolFailed { tool: String, message: String },
    Busy {},
    Newest { overflow: Overflow, part: f64 },
    Part { of: Box<NewPart> },
}

/// Answers a call of a host without a run:
///
/// - `{"call": "transcript", "turns", "turn"}` with the history for the next run, as `StoredTurns` has it;
/// - `{"call": "pending", "turn"}` with what the stored turn waits for, in the order of its calls;
/// - `{"call": "title", "messages"}` with the title of a thread, empty if the user's first message has no text for one;
/// - `{"call": "notStored", "message"}`, `noInstructions`, `toolFailed` (with `tool`) and `busy` with the outcome of a turn
///   that its store did not take, whose instructions could not be made, that ended because a tool is broken, or that
///   began while another turn of its thread was under way;
/// - `{"call": "newest", "overflow", "part"}` with the ids of the newest messages that fill no more than this part of
///   the window; the overflow is that of the effect `trimContext`;
/// - `{"call": "part", "of"}` with an AG-UI content part of media, as `NewPart` has it.
#[must_use]
pub fn session(json: &str) -> String {
    let answer = read_call("call", json).and_then(|call| guard(|| answer(call)));
    written_answer(answer)
}

/// Makes a content part of media, as [`session`] does, from bytes that are sent next to the JSON: `{"kind": "image"}`.
#[must_use]
pub fn media_part(json: &str, bytes: Option<&[u8]>) -> String {
    let part = read("the part", json).and_then(|of: NewPart| guard(|| Ok(json!(of.part(bytes)?))));
    written_answer(part)
}

fn answer(call: Call) -> Result<Value, Refused> {
    Ok(match call {
        Call::Transcript(stored) => json!(stored.history()?),
        Call::Pending { turn } => {
            let turn = Turn::try_from(*turn);
            json!(pending(&turn.map_err(unfit)?))
        }
        Call::Title { messages } => title(&messages).into(),
        Call::NotStored { message } => json!(not_stored(message)),
        Call::NoInstructions { message } => json!(no_instructions(message)),
        Call::ToolFailed { tool, message } => json!(tool_failed(tool, message)),
        Call::Busy {} => json!(busy()),
        Call::Newest { overflow, part } => json!(overflow.newest(part)),
        Call::Part { of } => json!(of.part(None)?),
    })
}

/// Returns the outcome of a turn whose instructions could not be made.
fn no_instructions(message: String) -> Outcome {
    let failure = Failure::NoInstructions { message };
    run::Outcome::Failed { failure }.into()
}

/// Returns the outcome of a turn that its host ended because a tool is broken.
fn tool_failed(tool: String, message: String) -> Outcome {
    let failure = Failure::ToolFailed { tool, message };
    run::Outcome::Failed { failure }.into()
}

/// Returns the outcome of a turn that began while another turn of its thread was under way.
fn busy() -> Outcome {
    let failure = Failure::Busy;
    run::Outcome::Failed { failure }.into()
}

/// Returns the outcome of a turn that its store did not take.
fn not_stored(message: String) -> Outcome {
    let failure = Failure::NotStored { message };
    run::Outcome::Failed { failure }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_with_a_store_asks_is_answered() {
        let ask =
            |call: Value| -> Value { serde_json::from_str(&session(&call.to_string())).unwrap() };
        let hello = json!({ "id": "m", "role": "user", "content": "**Hello** there" });
        let title = ask(json!({ "call": "title", "messages": [hello] }));
        assert_eq!(title, json!({ "answer": "Hello there" }));
        let record = json!({
            "id": "run-1", "message": hello, "status": "streaming", "createdAtMs": 1, "updatedAtMs": 2, "blocks": [],
        });
        let transcript = ask(json!({ "call": "transcript", "turns": [record], "turn": "run-1" }));
        assert_eq!(transcript["answer"]["messages"], json!([hello]));
        let block = |sequence: u32, content: Value| json!({ "block": { "sequence": sequence, "hop": 0, "content": content }, "atMs": 2 });
        let key = json!({ "hop": 0, "index": 0 });
        let call = json!({ "type": "tool_use", "call": key, "tool_call_id": "c", "name": "pay", "arguments": "{\"sum\":1}" });
        let asked = json!({ "type": "approval_asked", "call": key, "schema": {}, "deadline": 7 });
        let mut waiting = record.clone();
        waiting["blocks"] = json!([block(0, call), block(1, asked)]);
        let waits = ask(json!({ "call": "pending", "turn": waiting }));
        let expected = json!({
            "id": "c", "kind": "approval", "toolCallId": "c", "tool": "pay", "arguments": { "sum": 1 },
            "schema": {}, "deadline": 7,
        });
        assert_eq!(waits, json!({ "answer": [expected] }));
        let missing = ask(json!({ "call": "transcript", "turns": [record], "turn": "run-2" }));
        assert_eq!(missing["refused"]["kind"], "invalidArgument");
        let outcome = ask(json!({ "call": "notStored", "message": "no disk" }));
        assert_eq!(outcome["answer"]["problem"]["kind"], "store");
        let outcome = ask(json!({ "call": "busy" }));
        assert_eq!(outcome["answer"]["failure"]["failure"], "busy");
        assert_eq!(outcome["answer"]["problem"]["kind"], "busy");
        let outcome = ask(json!({ "call": "noInstructions", "message": "no profile" }));
        assert_eq!(outcome["answer"]["problem"]["kind"], "toolFailed");
        let broken = json!({ "call": "toolFailed", "tool": "pay", "message": "no table" });
        assert_eq!(ask(broken)["answer"]["problem"]["kind"], "toolFailed");
        let messages = ["a", "b", "c"].map(|id| json!({ "messageId": id, "tokens": 10 }));
        let overflow = json!({ "tokens": 60, "window": 50, "messages": messages });
        let newest = ask(json!({ "call": "newest", "overflow": overflow, "part": 0.8 }));
        assert_eq!(newest, json!({ "answer": ["b", "c"] }));
        let part = |of: Value| ask(json!({ "call": "part", "of": of }));
        let picture = part(json!({ "kind": "image", "data": "R0lGODlh" }));
        let source = json!({ "type": "data", "value": "R0lGODlh", "mimeType": "image/gif" });
        assert_eq!(
            picture["answer"],
            json!({ "type": "image", "source": source })
        );
        let sound = part(json!({ "kind": "audio", "data": "R0lGODlh" }));
        assert_eq!(sound["refused"]["reason"], "image/gif is no audio");
        let file = part(json!({ "file": "file-1", "provider": "openai" }));
        assert_eq!(file["answer"]["source"]["value"], "file-1");
        assert_eq!(
            ask(json!({ "call": "?" }))["refused"]["kind"],
            "invalidArgument"
        );
    }
}
