//! The query of a request for a stored answer.

use percent_encoding::percent_decode_str;

use crate::dialect::Refusal;
use crate::dialect::stored::StoredForm;

/// How a stored answer should be sent.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Query {
    /// Whether its events are sent, not the answer as it is.
    pub(super) stream: bool,
    /// The number of the last event that the client has.
    pub(super) after: Option<u64>,
}

impl Query {
    /// Reads a query; fields that say nothing here are passed over.
    pub(super) fn parse(query: &str, form: &dyn StoredForm) -> Result<Self, Refusal> {
        let mut parsed = Self::default();
        for field in query.split('&') {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            if name == "stream" {
                parsed.stream = value.parse().map_err(|_| Refusal {
                    param: Some(name.to_owned()),
                    ..Refusal::new(400, format!("Invalid '{name}': expected a boolean."))
                })?;
            } else if name == form.after() {
                let named = percent_decode_str(value).decode_utf8_lossy();
                parsed.after = Some(form.number(&named)?);
            }
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, stored};

    #[test]
    fn an_id_of_an_event_is_percent_encoded() {
        let form = stored::of(Dialect::GeminiInteractions).expect("it has stored answers");
        let query = Query::parse("stream=true&last_event_id=ev%2F7%3D", form).expect("a query");
        assert_eq!(query.after, Some(7));
        assert!(Query::parse("last_event_id=other", form).is_err());
    }

    #[test]
    fn reads_what_it_knows_and_refuses_what_is_no_number() {
        let form = stored::of(Dialect::OpenAiResponses).expect("it has stored answers");
        let parsed = |query| Query::parse(query, form).map_err(|refusal| refusal.message);
        let (stream, after) = (true, Some(7));
        let query = Query { stream, after };
        assert_eq!(parsed("stream=true&include=a&starting_after=7"), Ok(query));
        assert_eq!(parsed(""), Ok(Query::default()));
        for wrong in ["starting_after=a", "starting_after=-1", "starting_after"] {
            let message = "Invalid 'starting_after': expected an integer.";
            assert_eq!(parsed(wrong), Err(message.to_owned()));
        }
        assert!(parsed("stream=1").is_err());
    }
}
