//! The serde form of a request, which contains nothing that may be a secret.

use super::request::HttpRequest;
use crate::provider::{redact_address, redact_header};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

impl Serialize for HttpRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut request = serializer.serialize_struct("HttpRequest", 4)?;
        request.serialize_field("method", self.method)?;
        request.serialize_field("url", &redact_address(&self.url))?;
        let headers = self.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| redact_header(name, value))
            .collect();
        request.serialize_field("headers", &headers)?;
        match serde_json::from_slice::<serde_json::Value>(&self.body) {
            Ok(body) => request.serialize_field("body", &body)?,
            Err(_) => request.serialize_field("body", &crate::wire::to_text(&self.body))?,
        }
        request.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_shown_without_secrets() {
        let request = HttpRequest {
            method: "POST",
            url: "https://me:sk-url@host/v1".to_owned(),
            headers: vec![
                ("authorization".to_owned(), "Bearer sk-key".to_owned()),
                ("accept".to_owned(), "text/event-stream".to_owned()),
            ],
            body: br#"{"model":"m"}"#.to_vec(),
        };
        let shown = serde_json::to_value(&request).unwrap();
        assert_eq!(shown["headers"][1][1], "text/event-stream");
        assert_eq!(shown["body"]["model"], "m");
        assert!(!shown.to_string().contains("sk-"), "{shown}");
    }
}
