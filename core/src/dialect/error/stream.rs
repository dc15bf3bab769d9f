//! Errors inside a stream.

use super::super::mend;
use super::body::{describe, excerpt};
use memchr::memmem;
use serde_json::{Map, Value, json};

/// An error inside a stream, in the peer's words.
#[derive(Debug)]
pub(in crate::dialect) struct StreamError {
    pub(in crate::dialect) message: String,
    pub(in crate::dialect) code: Option<String>,
}

impl StreamError {
    /// Reads an error in any of the providers' forms.
    pub(in crate::dialect) fn read(data: &[u8]) -> Self {
        let (message, code) = value(data)
            .and_then(|body| match body {
                Value::String(message) => Some((message, None)),
                body => describe(&body),
            })
            .unwrap_or_else(|| (excerpt(data), None));
        Self { message, code }
    }

    /// The error that a frame is which says nothing in its own dialect: one of another provider's, or of a gateway's.
    pub(in crate::dialect) fn foreign(data: &str) -> Option<Self> {
        let data = data.as_bytes();
        // Frames that say nothing are many, and few of them are errors.
        let has = |word: &[u8]| memmem::find(data, word).is_some();
        if ![&b"error"[..], b"message", b"detail", b"\\"]
            .into_iter()
            .any(has)
        {
            return None;
        }
        Self::of(value(data)?.as_object()?)
    }

    /// The same of a frame that was read.
    pub(in crate::dialect) fn of(frame: &Map<String, Value>) -> Option<Self> {
        says_error(frame).then(|| Self::read(json!(frame).to_string().as_bytes()))
    }
}

fn value(data: &[u8]) -> Option<Value> {
    crate::json::value_of(data)
        .ok()
        .or_else(|| serde_json::from_str(&mend::settled(data)?).ok())
}

fn says_error(frame: &Map<String, Value>) -> bool {
    let field = |name: &str| frame.get(name).unwrap_or(&Value::Null);
    let is_named = ["type", "object"].iter().any(|name| field(name) == "error");
    let is_given = match field("error") {
        Value::Null | Value::Bool(false) => false,
        Value::String(error) => !error.is_empty(),
        _ => true,
    };
    let has_words = ["message", "detail"]
        .iter()
        .any(|name| field(name).as_str().is_some_and(|words| !words.is_empty()));
    is_named
        || is_given
        || has_words
            && ["code", "status"]
                .iter()
                .any(|name| is_failure(field(name)))
}

/// Whether a code is not one of success.
fn is_failure(code: &Value) -> bool {
    match code {
        Value::Number(code) => !matches!(code.as_u64(), Some(0 | 200..300)),
        Value::String(code) => !matches!(
            code.to_lowercase().as_str(),
            "" | "0" | "200" | "ok" | "success"
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_is_one() {
        for (frame, said) in [
            (r#"{"code":500,"message":"Oh no"}"#, Some("Oh no")),
            (
                r#"{"status":"UNAVAILABLE","message":"Oh no"}"#,
                Some("Oh no"),
            ),
            (r#"{"detail":"Oh no","code":"x"}"#, Some("Oh no")),
            (r#"{"error":"Oh no"}"#, Some("Oh no")),
            (r#"{"error":{"message":"Oh no"}}"#, Some("Oh no")),
            (r#"{"type":"error","message":"Oh no"}"#, Some("Oh no")),
            (r#"{"object":"error","message":"Oh no"}"#, Some("Oh no")),
            (r#"{"code":200,"message":"fine"}"#, None),
            (r#"{"code":"0","message":"fine"}"#, None),
            (r#"{"code":500}"#, None),
            (r#"{"message":"hello"}"#, None),
            (r#"{"error":null,"code":"","message":""}"#, None),
            (r#"{"error":""}"#, None),
            (r#"{"\u0065rror":"Oh no"}"#, Some("Oh no")),
            (r#"{"code":500,"status":"bad"}"#, None),
            ("[]", None),
        ] {
            let error = StreamError::foreign(frame);
            assert_eq!(
                error.as_ref().map(|error| error.message.as_str()),
                said,
                "{frame}"
            );
        }
    }
}
