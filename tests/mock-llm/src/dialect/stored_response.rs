//! A stored answer of OpenAI's Responses: what its events say of it, and how it ends when it is cancelled.
//!
//! Source: <https://platform.openai.com/docs/guides/background>.

use serde_json::{Value, json};

use super::server_sent_event;

/// What a frame says of its answer: the number of the event, and the response object.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Noted {
    pub(crate) number: Option<u64>,
    pub(crate) response: Option<Value>,
}

/// Reads a frame, or a body that is the response object itself. Of bytes that are neither nothing is noted.
pub(crate) fn read(bytes: &[u8]) -> Noted {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Noted::default();
    };
    let data = text.lines().find_map(|line| line.strip_prefix("data: "));
    let Ok(mut event) = serde_json::from_str::<Value>(data.unwrap_or(text)) else {
        return Noted::default();
    };
    if event["object"] == "response" {
        return Noted {
            number: None,
            response: Some(event),
        };
    }
    Noted {
        number: event["sequence_number"].as_u64(),
        response: Some(event["response"].take()).filter(Value::is_object),
    }
}

/// Returns whether the provider has finished an answer.
pub(crate) fn is_final(response: &Value) -> bool {
    !matches!(
        response["status"].as_str(),
        Some("queued" | "in_progress") | None
    )
}

/// Returns an answer as it is once it was cancelled.
pub(crate) fn cancelled(response: &Value) -> Value {
    let mut response = response.clone();
    response["status"] = "cancelled".into();
    response["output"] = json!([]);
    response
}

/// Returns the event that ends the streams of an answer that was cancelled.
pub(crate) fn cancelled_event(response: &Value, number: u64) -> Vec<u8> {
    let kind = "response.failed";
    let event = json!({"type": kind, "sequence_number": number, "response": response});
    server_sent_event(Some(kind), &event.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_event_has_a_number_and_only_some_have_the_response() {
        let noted = |bytes: &str| {
            let Noted { number, response } = read(bytes.as_bytes());
            (number, response.map(|response| response["status"].clone()))
        };
        let queued = r#"{"object":"response","status":"queued"}"#;
        assert_eq!(noted(queued), (None, Some("queued".into())));
        let event = format!("event: a\ndata: {{\"sequence_number\":3,\"response\":{queued}}}\n\n");
        assert_eq!(noted(&event), (Some(3), Some("queued".into())));
        assert_eq!(noted("data: {\"sequence_number\":4}\n\n"), (Some(4), None));
        assert_eq!(noted("data: [DONE]\n\n"), (None, None));
        assert_eq!(read(b"\xff"), Noted::default());
    }
}
