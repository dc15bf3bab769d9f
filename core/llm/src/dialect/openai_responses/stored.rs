//! Answers that the provider makes in the background.
//!
//! Source: <https://platform.openai.com/docs/guides/background>.

use serde::Deserialize;
use std::borrow::Cow;

/// What is read of an event or of a stored answer to find its place.
#[derive(Deserialize)]
struct Numbered {
    sequence_number: Option<u64>,
}

/// Returns the number of an event, if it has one.
pub(super) fn number(data: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Numbered>(data)
        .ok()?
        .sequence_number
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
}

/// Returns the event that would have ended the stream of a stored answer; `None` if the answer is not finished.
///
/// # Errors
/// The text is not a stored answer.
pub(super) fn last_event(answer: &str) -> Result<Option<String>, serde_json::Error> {
    let Answer { status } = serde_json::from_str(answer)?;
    Ok(match &*status {
        "queued" | "in_progress" => None,
        status => {
            let kind = serde_json::to_string(&format!("response.{status}"))?;
            Some(format!(r#"{{"type":{kind},"response":{answer}}}"#))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_finished_answer_ends_its_stream() {
        for status in ["queued", "in_progress"] {
            let answer = format!(r#"{{"id":"resp_1","status":"{status}"}}"#);
            assert_eq!(last_event(&answer).unwrap(), None);
        }
        let ended = last_event(r#"{"id":"resp_1","status":"completed"}"#).unwrap();
        assert!(
            ended
                .unwrap()
                .starts_with(r#"{"type":"response.completed","response":{"id""#)
        );
        assert!(last_event("{}").is_err() && last_event("[").is_err());
    }

    #[test]
    fn the_number_of_an_event_is_its_own() {
        let nested =
            br#"{"type":"x","delta":"\"sequence_number\":7","item":{"sequence_number":8}}"#;
        assert_eq!(number(nested), None);
        assert_eq!(number(br#"{"sequence_number":9,"type":"x"}"#), Some(9));
        assert_eq!(number(br#"{"sequence_number":"9"}"#), None);
        assert_eq!(number(b"[DONE]"), None);
    }
}
