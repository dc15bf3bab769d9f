//! Secrets, and forms of addresses and headers in which secrets are replaced with an ellipsis.

use serde::{Deserialize, Deserializer, Serializer};
use std::fmt;

/// The text that replaces a secret.
const HIDDEN: &str = "…";

/// The headers whose values are not secret.
const PUBLIC_HEADERS: [&str; 5] = [
    "accept",
    "accept-encoding",
    "content-type",
    "user-agent",
    "anthropic-version",
];

/// A secret, which is neither printed nor serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the secret itself, for the header that carries it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

impl From<&str> for Secret {
    fn from(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Returns a header with an ellipsis instead of a value that may be secret.
pub(crate) fn redact_header<'a>(name: &'a str, value: &'a str) -> (&'a str, &'a str) {
    let is_public = PUBLIC_HEADERS
        .iter()
        .any(|public| public.eq_ignore_ascii_case(name));
    (name, if is_public { value } else { HIDDEN })
}

/// Returns an address without the user's name and password, and without the values of its query.
pub(crate) fn redact_address(url: &str) -> String {
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

/// Serialises an address without the parts that may be secret.
pub(super) fn serialize_address<S: Serializer>(
    url: &str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&redact_address(url))
}

/// Serialises headers without the values that may be secret.
pub fn serialize_headers<S: Serializer>(
    headers: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        headers
            .iter()
            .map(|(name, value)| redact_header(name, value)),
    )
}

/// The serde form of an optional key: whether there is one.
pub mod key {
    use super::{Deserialize, Deserializer, HIDDEN, Secret, Serializer};

    /// Serialises whether there is a key, and never the key.
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
            assert_eq!(redact_address(url), shown);
            assert_eq!(redact_address(shown), shown, "and again the same");
        }
    }
}
