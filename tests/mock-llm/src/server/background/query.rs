//! The query of a request for a stored answer.

use crate::dialect::Refusal;

/// How a stored answer should be sent.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Query {
    /// Whether its events are sent, not the answer as it is.
    pub(super) stream: bool,
    /// The number of the last event that the client has.
    pub(super) starting_after: Option<u64>,
}

impl Query {
    /// Reads a query; fields that say nothing here are passed over.
    pub(super) fn parse(query: &str) -> Result<Self, Refusal> {
        let mut parsed = Self::default();
        for field in query.split('&') {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            let refused = |what: &str| Refusal {
                param: Some(name.to_owned()),
                ..Refusal::new(400, format!("Invalid '{name}': expected {what}."))
            };
            match name {
                "stream" => parsed.stream = value.parse().map_err(|_| refused("a boolean"))?,
                "starting_after" => {
                    let number = value.parse().map_err(|_| refused("an integer"))?;
                    parsed.starting_after = Some(number);
                }
                _ => {}
            }
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_knows_and_refuses_what_is_no_number() {
        let parsed = |query| Query::parse(query).map_err(|refusal| refusal.message);
        let (stream, starting_after) = (true, Some(7));
        let query = Query {
            stream,
            starting_after,
        };
        assert_eq!(parsed("stream=true&include=a&starting_after=7"), Ok(query));
        assert_eq!(parsed(""), Ok(Query::default()));
        for wrong in ["starting_after=a", "starting_after=-1", "starting_after"] {
            let message = "Invalid 'starting_after': expected an integer.";
            assert_eq!(parsed(wrong), Err(message.to_owned()));
        }
        assert!(parsed("stream=1").is_err());
    }
}
