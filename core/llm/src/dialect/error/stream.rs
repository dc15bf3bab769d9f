//! Errors inside a stream.

use super::super::mend;
use super::api_error_kind::ApiErrorKind;
use super::body::{Report, excerpt, log_unread_output};
use super::kind::{self, is_of_server};
use crate::event::{Common, ERROR_KIND, Metadata, RETRY_AFTER_MS, RunError, TokenUsage};
use memchr::memmem;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// An error inside a stream, as the peer reports it.
#[derive(Debug)]
pub(in crate::dialect) struct StreamError {
    pub(in crate::dialect) message: String,
    pub(in crate::dialect) code: Option<String>,
    /// The kind of error, if the peer's report tells it.
    kind: Option<ApiErrorKind>,
    /// The retry delay that the peer asks for.
    retry_after: Option<Duration>,
}

impl StreamError {
    /// Creates an error of this kind that the peer did not report itself.
    pub(in crate::dialect) fn of_kind(
        kind: ApiErrorKind,
        code: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            message: message.into(),
            code: Some(code.to_owned()),
            kind: Some(kind),
            retry_after: None,
        }
    }

    /// Creates an error from a message and a code.
    pub(crate) fn new(message: String, code: Option<String>) -> Self {
        Report::new(message, code).into()
    }

    /// Reads an error in any of the providers' forms.
    pub(crate) fn read(data: &[u8]) -> Self {
        if let Some(page) = Self::page(data) {
            return page;
        }
        match value(data) {
            Some(Value::String(message)) => Self::new(message, None),
            Some(body) => {
                log_unread_output(&body);
                Report::of(Some(&body), data).into()
            }
            None => Self::new(excerpt(data), None),
        }
    }

    /// Reads a failure that has a name: an exception or an error of an event stream.
    pub(in crate::dialect) fn named(name: &str, data: &[u8]) -> Self {
        let mut report = match value(data) {
            Some(body) => Report::of(Some(&body), data),
            None => Report::new(excerpt(data), None),
        };
        report.name(name);
        report.into()
    }

    /// Reads a frame that means nothing in its dialect as an error of another provider or of a gateway.
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

    /// Reads a parsed frame as an error of another provider or of a gateway.
    pub(in crate::dialect) fn of(frame: &Map<String, Value>) -> Option<Self> {
        says_error(frame).then(|| Self::read(json!(frame).to_string().as_bytes()))
    }

    /// Reads an error from lines that are not server-sent events: llama.cpp's field `error`, bare JSON, or a proxy's
    /// page or message.
    pub(in crate::dialect) fn stray(data: &[u8]) -> Option<Self> {
        let data = data.trim_ascii();
        if let Some(error) = data.strip_prefix(b"error:") {
            return Some(Self::read(error.trim_ascii()));
        }
        match value(data) {
            Some(Value::Object(body)) => Self::of(&body),
            Some(Value::Array(all)) => Self::of(all.first()?.as_object()?),
            Some(_) => None,
            None => Self::page(data).or_else(|| {
                let error = Self::new(excerpt(data), None);
                (error.kind.is_some() || is_of_server(&error.message)).then_some(error)
            }),
        }
    }

    /// Reads a web page of a proxy as an error with the page's title and the HTTP status in it.
    pub(in crate::dialect) fn page(data: &[u8]) -> Option<Self> {
        /// A title is near the beginning.
        const LOOKED_AT: usize = 4096;
        let data = data.trim_ascii_start();
        let begins = |start: &&str| {
            data.get(..start.len())
                .is_some_and(|bytes| bytes.eq_ignore_ascii_case(start.as_bytes()))
        };
        if !["<!doctype", "<html", "<head", "<?xml"].iter().any(begins) {
            return None;
        }
        let page = String::from_utf8_lossy(&data[..data.len().min(LOOKED_AT)]);
        let title = ["title", "h1"].iter().find_map(|tag| element(&page, tag));
        let message = title.unwrap_or_else(|| excerpt(data));
        let mut numbers = message.split(|char: char| !char.is_ascii_digit());
        let status = numbers.find(|digits| digits.len() == 3 && digits.starts_with(['4', '5']));
        let code = status.map(str::to_owned);
        Some(Self::new(message, code))
    }

    /// Returns the event that reports the error.
    pub(in crate::dialect) fn into_event(
        self,
        usage: Option<Vec<TokenUsage>>,
        stop_reason: Option<&str>,
    ) -> RunError {
        let Self {
            message,
            code,
            kind,
            retry_after,
        } = self;
        let mut metadata = Metadata::new();
        if let Some(reason) = stop_reason {
            metadata.insert("stopReason".to_owned(), reason.into());
        }
        // Only the fields that the message and the code do not have.
        let told = Report::new(message.clone(), code.clone());
        if kind != kind::of_words(&told)
            && let Some(kind) = kind
        {
            metadata.insert(ERROR_KIND.to_owned(), kind.name().into());
        }
        if let Some(wait) = retry_after.filter(|wait| told.retry_after() != Some(*wait)) {
            let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            metadata.insert(RETRY_AFTER_MS.to_owned(), millis.into());
        }
        let common = (!metadata.is_empty()).then(|| {
            Box::new(Common {
                metadata: Some(metadata),
                ..Common::default()
            })
        });
        RunError {
            message,
            code,
            usage,
            common,
        }
    }
}

impl From<Report> for StreamError {
    fn from(report: Report) -> Self {
        Self {
            kind: kind::of_words(&report),
            retry_after: report.retry_after(),
            message: report.message,
            code: report.code,
        }
    }
}

/// Returns the text of the first element with this name.
fn element(page: &str, tag: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let open = lower.find(&format!("<{tag}"))?;
    let start = open + lower[open..].find('>')? + 1;
    let end = start + lower[start..].find("</")?;
    let text = page.get(start..end)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn value(data: &[u8]) -> Option<Value> {
    serde_json::from_slice::<serde_json::Value>(data)
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
    // The complete body of FastAPI.
    let is_detail = frame.len() == 1
        && match field("detail") {
            Value::String(words) => !words.is_empty(),
            Value::Array(entries) => !entries.is_empty(),
            Value::Object(error) => !error.is_empty(),
            _ => false,
        };
    is_named
        || is_given
        || is_detail
        || has_words
            && ["code", "status"]
                .iter()
                .any(|name| is_failure(field(name)))
}

/// Returns whether a code means failure.
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
            (r#"{"detail":"Oh no"}"#, Some("Oh no")),
            (
                r#"{"detail":[{"loc":["a"],"msg":"Oh no"}]}"#,
                Some("a: Oh no"),
            ),
            (r#"{"error":"Oh no"}"#, Some("Oh no")),
            (r#"{"error":{"message":"Oh no"}}"#, Some("Oh no")),
            (r#"{"type":"error","message":"Oh no"}"#, Some("Oh no")),
            (r#"{"object":"error","message":"Oh no"}"#, Some("Oh no")),
            (r#"{"code":200,"message":"fine"}"#, None),
            (r#"{"code":"0","message":"fine"}"#, None),
            (r#"{"code":500}"#, None),
            (r#"{"message":"hello"}"#, None),
            (r#"{"detail":"hello","choices":[]}"#, None),
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

    #[test]
    fn text_outside_the_format_is_read_for_its_error() {
        let error = |text: &str| {
            let error = StreamError::stray(text.as_bytes())?;
            Some((error.message, error.code, error.kind))
        };
        let said = |message: &str, code: Option<&str>, kind| {
            Some((message.to_owned(), code.map(str::to_owned), kind))
        };
        for (text, expected) in [
            (
                r#"error: {"code":400,"message":"too big","type":"exceed_context_size_error"}"#,
                said("too big", Some("400"), Some(ApiErrorKind::ContextTooLong)),
            ),
            ("error: gone", said("gone", None, None)),
            (
                "{\n  \"error\": {\n    \"code\": 429, \"message\": \"No\"}\n}",
                said("No", Some("429"), Some(ApiErrorKind::RateLimit)),
            ),
            (
                "[{\"error\": {\"code\": 503, \"message\": \"No\"}}]",
                said("No", Some("503"), Some(ApiErrorKind::ServerError)),
            ),
            (
                "<html>\n<head><title>502 Bad\n Gateway</title></head>",
                said(
                    "502 Bad Gateway",
                    Some("502"),
                    Some(ApiErrorKind::ServerError),
                ),
            ),
            (
                "<!DOCTYPE html><TITLE lang=en>Too many requests</TITLE>",
                said("Too many requests", None, Some(ApiErrorKind::RateLimit)),
            ),
            (
                "upstream connect error or disconnect/reset before headers",
                said(
                    "upstream connect error or disconnect/reset before headers",
                    None,
                    None,
                ),
            ),
            (r#"{"choices":[]}"#, None),
            ("some words", None),
            ("\"error\"", None),
            ("", None),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }
}
