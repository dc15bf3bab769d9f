//! The provider's own compaction: an item that stands for all items before it.

use super::super::provider_compaction::COMPACTION;
use super::super::sealed;
use crate::provider::Dialect;
use serde_json::{Value, json};

/// Returns the setting with which the provider compacts a request above this number of tokens.
pub(super) fn setting(above: u64) -> Value {
    json!([{"type": "compaction", "compact_threshold": above}])
}

/// Returns whether the sealed item is a compaction.
pub(in super::super) fn holds_compaction(value: &str, provider: &str) -> bool {
    let item: Option<Value> = sealed::open(Some(value), provider, Dialect::OpenAiResponses);
    item.as_ref().is_some_and(is_compaction)
}

/// Returns nothing instead of the sealed item, if it is a compaction.
#[expect(clippy::option_option, reason = "no change, or a change to nothing")]
pub(in super::super) fn without_compaction(value: &str) -> Option<Option<String>> {
    let mut was_compaction = false;
    sealed::changed(value, |item: &mut Value| {
        was_compaction = is_compaction(item);
    })?;
    was_compaction.then_some(None)
}

fn is_compaction(item: &Value) -> bool {
    item["type"] == COMPACTION && item["encrypted_content"].is_string()
}
