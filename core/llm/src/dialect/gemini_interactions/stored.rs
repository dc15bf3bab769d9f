//! Interactions that Gemini makes in the background.

use super::super::EventPosition;
use super::super::lenient::{Raw, text};
use serde::Deserialize;
use std::borrow::Cow;

/// The longest id of an event that is kept, in bytes: it becomes a part of an address.
const LONGEST_EVENT_ID: usize = 2048;

/// What is read of an event to find its place.
#[derive(Deserialize)]
struct Placed<'a> {
    #[serde(borrow)]
    event_id: Raw<'a>,
}

/// Returns the place of an event, if it has an id that can be named in a request.
pub(super) fn position(data: &[u8]) -> Option<EventPosition<'_>> {
    let placed: Placed<'_> = serde_json::from_slice(data).ok()?;
    let id = text(placed.event_id).ok()??;
    (id.len() <= LONGEST_EVENT_ID).then_some(EventPosition::Id(id))
}

#[derive(Deserialize)]
struct Interaction<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
}

/// Returns the event that would have ended the stream of a stored interaction; `None` if it is not finished.
///
/// # Errors
/// The text is not a stored interaction.
pub(super) fn last_event(interaction: &str) -> Result<Option<String>, serde_json::Error> {
    let Interaction { status } = serde_json::from_str(interaction)?;
    let is_finished = !matches!(&*status, "queued" | "in_progress");
    Ok(is_finished.then(|| {
        format!(r#"{{"event_type":"interaction.completed","interaction":{interaction}}}"#)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_finished_interaction_ends_its_stream() {
        for status in ["queued", "in_progress"] {
            let interaction = format!(r#"{{"id":"int_1","status":"{status}"}}"#);
            assert_eq!(last_event(&interaction).unwrap(), None);
        }
        let ended = last_event(r#"{"id":"int_1","status":"requires_action"}"#).unwrap();
        assert!(ended.is_some());
        assert!(last_event("{}").is_err() && last_event("[").is_err());
    }

    #[test]
    fn the_id_of_an_event_is_its_own_and_may_be_anything_but_long() {
        let nested = br#"{"event_type":"x","delta":"\"event_id\":\"a\"","step":{"event_id":"b"}}"#;
        assert_eq!(position(nested), None);
        let id = |id: &str| Some(EventPosition::Id(id.to_owned().into()));
        assert_eq!(position(br#"{"event_id":"CAE\u003d","x":1}"#), id("CAE="));
        let long = format!(r#"{{"event_id":"{}"}}"#, "a".repeat(LONGEST_EVENT_ID + 1));
        for none in [r#"{"event_id":""}"#, r#"{"event_id":7}"#, "[DONE]", &long] {
            assert_eq!(position(none.as_bytes()), None, "{none}");
        }
    }
}
