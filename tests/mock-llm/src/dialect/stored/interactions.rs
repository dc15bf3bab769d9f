//! Stored interactions of Gemini. Google documents no texts of refusals; those here are the mock's own.
//!
//! Source: <https://ai.google.dev/gemini-api/docs/interactions> and the types of the package `google-genai`.

use serde_json::{Value, json};

use super::super::gemini_interactions::{event, event_id, number_of};
use super::{Dialect, Noted, Refusal, Refused, StoredForm, json};

pub(super) struct Interactions;

impl StoredForm for Interactions {
    fn dialect(&self) -> Dialect {
        Dialect::GeminiInteractions
    }

    fn paths(&self) -> &'static str {
        "/v1beta/interactions/"
    }

    fn id(&self, position: usize, in_background: Option<usize>) -> String {
        match in_background {
            Some(number) => format!("v1_{position}_{number}"),
            None => format!("v1_{position}"),
        }
    }

    fn key_header(&self) -> &'static str {
        "x-goog-api-key"
    }

    fn after(&self) -> &'static str {
        "last_event_id"
    }

    fn number(&self, named: &str) -> Result<u64, Refusal> {
        number_of(named).ok_or_else(|| {
            let text = format!("last_event_id: there is no event `{named}`.");
            Refusal::new(400, text)
        })
    }

    fn read(&self, bytes: &[u8]) -> Noted {
        let Some(mut event) = json(bytes) else {
            return Noted::default();
        };
        if event["object"] == "interaction" {
            return Noted {
                number: None,
                answer: Some(event),
            };
        }
        Noted {
            number: event["event_id"].as_str().and_then(number_of),
            answer: Some(event["interaction"].take()).filter(Value::is_object),
        }
    }

    /// A stored interaction has the steps of its request too.
    fn shown(&self, mut answer: Value, request: &Value) -> Value {
        let input = match &request["input"] {
            Value::String(text) => {
                json!([{"type": "user_input", "content": [{"type": "text", "text": text}]}])
            }
            Value::Array(steps) => json!(steps),
            _ => json!([]),
        };
        let made = answer["steps"].take();
        let steps = [input, made].into_iter();
        let steps = steps.filter_map(|steps| match steps {
            Value::Array(steps) => Some(steps),
            _ => None,
        });
        answer["steps"] = steps.flatten().collect();
        answer
    }

    fn cancelled(&self, answer: &Value) -> Value {
        let mut answer = answer.clone();
        answer["status"] = "cancelled".into();
        answer
    }

    fn cancelled_event(&self, answer: &Value, number: u64) -> Vec<u8> {
        let fields = json!({ "interaction": answer });
        event("interaction.completed", fields, Some(&event_id(number)))
    }

    fn refusal(&self, refused: Refused<'_>) -> Refusal {
        let (status, text) = match refused {
            Refused::Unknown(id) => (404, format!("Interaction {id} not found.")),
            Refused::WrongKey => (
                401,
                "API key not valid: it is not that of the interaction.".to_owned(),
            ),
            Refused::Synchronous => (
                400,
                "Only an interaction in the background can be cancelled.".to_owned(),
            ),
            Refused::Ended(status) => (
                400,
                format!("The interaction is {status}: it cannot be cancelled."),
            ),
            Refused::NotCreatedWith(field) => (
                400,
                format!("The interaction was not created with {field}: it cannot be streamed."),
            ),
            Refused::TooOld => (400, "The interaction is no longer streamed.".to_owned()),
        };
        Refusal::new(status, text)
    }
}
