use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The data that is sent back with a call, a message or a stretch of reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Seal<'a> {
    /// The call's own id: made ids are not sent back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    /// The signature of the call, or of the last part of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<Cow<'a, str>>,
    /// The length of the signed part in bytes, at the end of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) length: Option<usize>,
    /// The signature of a part without text that followed directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trailing: Option<Cow<'a, str>>,
    /// The original part that the message represents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<Map<String, Value>>,
}

impl Seal<'_> {
    /// Returns whether there is nothing to send back.
    pub(super) fn is_empty(&self) -> bool {
        self.id.is_none() && self.thought_signature.is_none() && self.trailing.is_none()
    }
}
