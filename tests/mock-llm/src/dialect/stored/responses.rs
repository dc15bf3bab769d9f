//! Stored answers of OpenAI's Responses. The texts of the refusals are OpenAI's.
//!
//! Source: <https://platform.openai.com/docs/guides/background> and the reference of
//! <https://platform.openai.com/docs/api-reference/responses>.

use serde_json::{Value, json};

use super::super::server_sent_event;
use super::{Dialect, Noted, Refusal, Refused, StoredForm, json};

pub(super) struct Responses;

impl StoredForm for Responses {
    fn dialect(&self) -> Dialect {
        Dialect::OpenAiResponses
    }

    fn paths(&self) -> &'static str {
        "/v1/responses/"
    }

    fn id(&self, position: usize, in_background: Option<usize>) -> String {
        match in_background {
            Some(number) => format!("resp_{position}_{number}"),
            None => format!("resp_{position}"),
        }
    }

    fn key_header(&self) -> &'static str {
        "authorization"
    }

    fn after(&self) -> &'static str {
        "starting_after"
    }

    fn number(&self, named: &str) -> Result<u64, Refusal> {
        named.parse().map_err(|_| Refusal {
            param: Some(self.after().to_owned()),
            ..Refusal::new(400, "Invalid 'starting_after': expected an integer.")
        })
    }

    fn read(&self, bytes: &[u8]) -> Noted {
        let Some(mut event) = json(bytes) else {
            return Noted::default();
        };
        if event["object"] == "response" {
            return Noted {
                number: None,
                answer: Some(event),
            };
        }
        Noted {
            number: event["sequence_number"].as_u64(),
            answer: Some(event["response"].take()).filter(Value::is_object),
        }
    }

    fn shown(&self, answer: Value, _request: &Value) -> Value {
        answer
    }

    fn cancelled(&self, answer: &Value) -> Value {
        let mut answer = answer.clone();
        answer["status"] = "cancelled".into();
        answer["output"] = json!([]);
        answer
    }

    fn cancelled_event(&self, answer: &Value, number: u64) -> Vec<u8> {
        let kind = "response.failed";
        let event = json!({"type": kind, "sequence_number": number, "response": answer});
        server_sent_event(Some(kind), &event.to_string())
    }

    fn refusal(&self, refused: Refused<'_>) -> Refusal {
        match refused {
            Refused::Unknown(id) => {
                Refusal::new(404, format!("Response with id '{id}' not found."))
            }
            Refused::WrongKey => Refusal {
                code: Some("invalid_api_key"),
                ..Refusal::new(401, "Incorrect API key provided: not that of the answer.")
            },
            Refused::Synchronous => Refusal::new(400, "Cannot cancel a synchronous response."),
            Refused::Ended(status) => {
                let article = if status == "incomplete" { "an" } else { "a" };
                Refusal::new(400, format!("Cannot cancel {article} {status} response."))
            }
            Refused::NotCreatedWith(field) => Refusal {
                param: Some("stream".to_owned()),
                ..Refusal::new(
                    400,
                    format!(
                        "This response cannot be streamed because it was not created with {field}=true."
                    ),
                )
            },
            Refused::TooOld => Refusal::new(
                400,
                "This response can no longer be streamed because it is more than 5 minutes old",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_event_has_a_number_and_only_some_have_the_response() {
        let noted = |bytes: &str| {
            let Noted { number, answer } = Responses.read(bytes.as_bytes());
            (number, answer.map(|response| response["status"].clone()))
        };
        let queued = r#"{"object":"response","status":"queued"}"#;
        assert_eq!(noted(queued), (None, Some("queued".into())));
        let event = format!("event: a\ndata: {{\"sequence_number\":3,\"response\":{queued}}}\n\n");
        assert_eq!(noted(&event), (Some(3), Some("queued".into())));
        assert_eq!(noted("data: {\"sequence_number\":4}\n\n"), (Some(4), None));
        assert_eq!(noted("data: [DONE]\n\n"), (None, None));
        assert_eq!(Responses.read(b"\xff"), Noted::default());
    }
}
