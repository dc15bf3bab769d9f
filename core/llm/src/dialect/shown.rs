//! What of a request may be written down: nothing that may be a secret.

use super::{HttpRequest, Secret};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Stands where something is not shown.
const HIDDEN: &str = "…";

/// The headers whose values are no secret.
const PUBLIC: [&str; 5] = [
    "accept",
    "accept-encoding",
    "content-type",
    "user-agent",
    "anthropic-version",
];

fn header<'a>(name: &'a str, value: &'a str) -> (&'a str, &'a str) {
    let is_public = PUBLIC
        .iter()
        .any(|public| public.eq_ignore_ascii_case(name));
    (name, if is_public { value } else { HIDDEN })
}

/// An address without the user's name and password and without the values of its query.
fn address(url: &str) -> String {
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (url, None),
    };
    let mut shown = match before.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(host_end);
            match host.rsplit_once('@') {
                Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{path}"),
                None => format!("{scheme}://{host}{path}"),
            }
        }
        None => before.to_owned(),
    };
    for (index, pair) in query.iter().flat_map(|query| query.split('&')).enumerate() {
        shown.push(if index == 0 { '?' } else { '&' });
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        if !name.is_empty() {
            shown.push_str(name);
            shown.push('=');
        }
        if !value.is_empty() {
            shown.push_str(HIDDEN);
        }
    }
    shown
}

pub(super) fn serialize_address<S: Serializer>(
    url: &str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&address(url))
}

/// Writes headers without their values, which may be secrets.
pub fn serialize_headers<S: Serializer>(
    headers: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(headers.iter().map(|(name, value)| header(name, value)))
}

/// Of a key only that there is one.
pub mod key {
    use super::{Deserialize, Deserializer, HIDDEN, Secret, Serializer};

    /// Writes whether there is a key, and never the key.
    pub fn serialize<S: Serializer>(
        key: &Option<Secret>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match key {
            Some(_) => serializer.serialize_some(HIDDEN),
            None => serializer.serialize_none(),
        }
    }

    /// Reads whether there was a key.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Secret::from))
    }
}

impl Serialize for HttpRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut request = serializer.serialize_struct("HttpRequest", 4)?;
        request.serialize_field("method", self.method)?;
        request.serialize_field("url", &address(&self.url))?;
        let headers = self.headers.iter();
        let headers: Vec<_> = headers.map(|(name, value)| header(name, value)).collect();
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
    fn an_address_is_shown_without_credentials() {
        for (url, shown) in [
            ("http://localhost/v1", "http://localhost/v1"),
            ("https://me:secret@host:8/v1", "https://…@host:8/v1"),
            (
                "https://host/v1?key=secret&x=y",
                "https://host/v1?key=…&x=…",
            ),
            ("https://host/a@b?secret", "https://host/a@b?…"),
        ] {
            assert_eq!(address(url), shown);
            assert_eq!(address(shown), shown, "and again the same");
        }
    }

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
