use super::dialect::Dialect;
use super::error::EndpointError;
use super::secret::Secret;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The header that carries the API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyHeader {
    /// The header's name, in lower case.
    pub name: Cow<'static, str>,
    /// The text before the key: `Bearer `, with the space, or nothing.
    #[serde(default)]
    pub prefix: Cow<'static, str>,
    /// Whether a key that is a JSON Web Token is sent as `authorization: Bearer` instead: a token of Azure's Entra ID.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tokens_as_bearer: bool,
}

impl KeyHeader {
    /// Returns the header that carries the key in requests of this dialect.
    #[must_use]
    pub const fn of(dialect: Dialect) -> Self {
        let (name, prefix) = match dialect {
            Dialect::Anthropic => ("x-api-key", ""),
            Dialect::Gemini | Dialect::GeminiInteractions => ("x-goog-api-key", ""),
            _ => ("authorization", "Bearer "),
        };
        Self {
            name: Cow::Borrowed(name),
            prefix: Cow::Borrowed(prefix),
            tokens_as_bearer: false,
        }
    }

    /// Returns the header with a key.
    pub(super) fn with_key(&self, key: &Secret) -> (String, String) {
        let key = key.expose();
        if self.tokens_as_bearer && is_web_token(key) {
            return ("authorization".to_owned(), format!("Bearer {key}"));
        }
        (self.name.to_string(), format!("{}{key}", self.prefix))
    }
}

/// Returns whether the key has the form of a signed JSON Web Token: a JSON object, a dot, another, a dot, a signature.
fn is_web_token(key: &str) -> bool {
    key.starts_with("eyJ") && key.split('.').count() == 3
}

/// Checks that a header can be sent, and returns it.
///
/// # Errors
/// The name or the value contains a character that no header may have.
pub fn header(name: String, value: String) -> Result<(String, String), EndpointError> {
    if !is_header_name(&name) || !is_header_value(&value) {
        return Err(EndpointError::BadHeader { name });
    }
    Ok((name, value))
}

/// Returns the names of headers, without their values.
pub fn header_names(headers: &[(String, String)]) -> Vec<&str> {
    headers.iter().map(|(name, _)| name.as_str()).collect()
}

/// RFC 9110, section 5.1.
pub(super) fn is_header_name(name: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_token)
}

/// RFC 9110, section 5.5.
pub(super) fn is_header_value(value: &str) -> bool {
    value.chars().all(|c| c == '\t' || !c.is_ascii_control())
}

pub(super) fn is_base_url(address: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        let start = address.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}
