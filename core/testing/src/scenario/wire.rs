//! The bytes of a body, as a scenario writes them down.

use serde_json::Value;

/// Returns the bytes of a `receive`: `sse` is a list of data, `frames` of data with an event's name or an id, `lines`
/// of JSON lines, and `text` is used unchanged.
pub(super) fn bytes(step: &Value) -> Vec<u8> {
    let mut body = String::new();
    for data in list(step, "sse") {
        body.push_str(&format!("data: {}\n\n", text(data)));
    }
    for frame in list(step, "frames") {
        for field in ["id", "event"] {
            if let Some(value) = frame[field].as_str() {
                body.push_str(&format!("{field}: {value}\n"));
            }
        }
        body.push_str(&format!("data: {}\n\n", text(&frame["data"])));
    }
    for line in list(step, "lines") {
        body.push_str(&format!("{}\n", text(line)));
    }
    body.push_str(step["text"].as_str().unwrap_or_default());
    body.into_bytes()
}

fn list<'a>(step: &'a Value, name: &str) -> &'a [Value] {
    step[name].as_array().map_or(&[], Vec::as_slice)
}

/// A string as it is, all else as JSON without blanks.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
