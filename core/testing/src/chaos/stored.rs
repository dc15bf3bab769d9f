//! Answers that a provider makes in the background: the rest of their frames, and the answer as a whole.

use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;

/// Returns the number of the frame from which a request for a stored answer continues it; `usize::MAX` if it asks for the
/// answer as a whole.
pub(super) fn next_frame(frames: &[String], url: &str) -> usize {
    let Some((_, query)) = url.split_once("?stream=true&") else {
        return usize::MAX;
    };
    // The mock's ids have these characters, which an address cannot have.
    let query = query.replace("%2F", "/").replace("%3D", "=");
    let last = match query.split_once('=') {
        Some(("starting_after", number)) => format!("\"sequence_number\":{number}"),
        Some(("last_event_id", id)) => format!("\"event_id\":\"{id}\""),
        _ => return 0,
    };
    let is_last = |frame: &String| {
        frame.match_indices(&last).any(|(at, found)| {
            let next = frame[at + found.len()..].chars().next();
            !next.is_some_and(|next| next.is_ascii_digit())
        })
    };
    frames.iter().position(is_last).map_or(0, |at| at + 1)
}

/// Returns an answer of these frames as a whole.
pub(super) fn stored(dialect: Dialect, frames: &[String], is_finished: bool) -> Vec<u8> {
    let is_interaction = dialect == Dialect::GeminiInteractions;
    let (name, made, id) = match is_interaction {
        true => ("interaction", "steps", "v1_0"),
        false => ("response", "output", "resp_1"),
    };
    if !is_finished {
        let answer = json!({"id": id, "status": "in_progress"});
        return answer.to_string().into_bytes();
    }
    let data = frames
        .iter()
        .rev()
        .filter_map(|frame| frame.split_once("data: "));
    let events = data.filter_map(|(_, data)| serde_json::from_str::<Value>(data).ok());
    let mut whole = events.filter(|event| event[name][made].is_array());
    let mut answer = match whole.next() {
        Some(event) if event[name]["status"] != "in_progress" => event[name].clone(),
        _ => json!({"id": id, "status": "failed", "error": {"message": "it was lost"}, made: []}),
    };
    if is_interaction && let Value::Array(steps) = &mut answer["steps"] {
        // The steps of the request come first.
        let content = json!([{"type": "text", "text": "Hello"}]);
        steps.insert(0, json!({"type": "user_input", "content": content}));
    }
    answer.to_string().into_bytes()
}
