//! The provider's own compaction: a block that stands for all blocks before it.

use super::super::provider_compaction::COMPACTION;
use super::super::sealed;
use super::layout::Segment;
use crate::provider::Dialect;
use serde_json::{Value, json};

/// The beta name that a request must carry if it asks for compaction.
pub(super) const BETA: &str = "compact-2026-01-12";

/// Returns the setting with which the provider compacts a request above this number of tokens. It goes on with the answer
/// afterwards.
pub(super) fn setting(above: u64) -> Value {
    json!({"edits": [{
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": above},
    }]})
}

/// Returns whether the sealed value has a compaction. One that failed has no content.
pub(in super::super) fn holds_compaction(value: &str, provider: &str) -> bool {
    let segments: Option<Vec<Segment>> = sealed::open(Some(value), provider, Dialect::Anthropic);
    segments.iter().flatten().any(is_compaction)
}

/// Returns the sealed value without the compaction, which is nothing if there is nothing else. Returns `None` if there is
/// no compaction.
#[expect(clippy::option_option, reason = "no change, or a change to nothing")]
pub(in super::super) fn without_compaction(value: &str) -> Option<Option<String>> {
    let (mut had, mut is_empty) = (false, false);
    let rest = sealed::changed(value, |segments: &mut Vec<Segment>| {
        had = segments.iter().any(is_compaction);
        segments.retain(|segment| !is_compaction(segment));
        is_empty = segments.is_empty();
    })?;
    had.then(|| (!is_empty).then_some(rest))
}

fn is_compaction(segment: &Segment) -> bool {
    let Segment::Block(block) = segment else {
        return false;
    };
    block["type"] == COMPACTION
        && (block["content"].is_string() || block["encrypted_content"].is_string())
}
