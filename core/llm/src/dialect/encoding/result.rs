//! The text of a tool's result and of a tool's failure.

use super::as_text;
use crate::event::{ContentPart, MessageContent, ToolMessage};
use serde::Serialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The message of a failure that has none.
const NO_REASON: &str = "The tool failed and did not say why.";

/// A tool's failure for the model. As JSON it is an object that cannot be mistaken for a result: most formats have no
/// other place for it, and Gemini asks for exactly this object.
///
/// Source: <https://ai.google.dev/api/caching#FunctionResponse>, "response".
#[derive(Debug, Serialize)]
pub(in super::super) struct Failure<'a> {
    error: Cow<'a, str>,
    /// The tool's output in spite of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Cow<'a, str>>,
}

impl<'a> Failure<'a> {
    /// Returns the message's failure, if it has one. Parts that are sent next to the result are left out.
    pub(in super::super) fn of(
        message: &'a ToolMessage,
        goes_beside: impl Fn(&ContentPart) -> bool,
    ) -> Option<Self> {
        let error = message.error.as_deref()?;
        let text = content_text(&message.content, goes_beside);
        let (error, output) = match (error, text) {
            ("", text) if text.is_empty() => (NO_REASON.into(), None),
            // The content is the error, or says it and more.
            (error, text) if text.contains(error) => (text, None),
            (error, text) if text.is_empty() => (error.into(), None),
            (error, text) => (error.into(), Some(text)),
        };
        Some(Self { error, output })
    }

    /// Returns the failure as text, for a format that marks the result as an error.
    pub(in super::super) fn into_words(self) -> Cow<'a, str> {
        match self.output {
            None => self.error,
            Some(output) => Cow::Owned(format!("{}\n{output}", self.error)),
        }
    }

    /// The same as JSON. An error that a tool gave as such an object stays as it is.
    pub(in super::super) fn into_json(self) -> Cow<'a, str> {
        if self.output.is_none() && is_error_object(&self.error) {
            return self.error;
        }
        // Two strings cannot fail.
        Cow::Owned(serde_json::to_string(&self).unwrap_or_default())
    }
}

fn is_error_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && serde_json::from_str::<BTreeMap<Cow<'_, str>, IgnoredAny>>(text)
            .is_ok_and(|fields| fields.contains_key("error"))
}

/// Returns a tool's result as text, or its failure as JSON. Parts that are sent next to the result are left out.
pub(in super::super) fn result_text(
    message: &ToolMessage,
    goes_beside: impl Fn(&ContentPart) -> bool,
) -> Cow<'_, str> {
    match Failure::of(message, &goes_beside) {
        Some(failure) => failure.into_json(),
        None => content_text(&message.content, goes_beside),
    }
}

fn content_text(
    content: &MessageContent,
    goes_beside: impl Fn(&ContentPart) -> bool,
) -> Cow<'_, str> {
    match content {
        MessageContent::Text(text) => Cow::Borrowed(text.as_str()),
        MessageContent::Parts(parts) => {
            let words = parts.iter().filter(|part| !goes_beside(part));
            let texts: Vec<_> = words.filter_map(as_text).collect();
            Cow::Owned(texts.join("\n"))
        }
    }
}
