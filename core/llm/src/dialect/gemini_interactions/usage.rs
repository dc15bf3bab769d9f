use super::super::lenient::count;
use crate::event::TokenUsage;
use serde_json::Value;

/// Reads a `usage` object; `None` where it counts nothing.
pub(super) fn read(usage: &str) -> Option<TokenUsage> {
    let usage: Value = serde_json::from_str(usage).ok()?;
    let read = TokenUsage {
        input_tokens: count(&usage["total_input_tokens"]),
        // The tokens of thoughts are not among them.
        output_tokens: count(&usage["total_output_tokens"]),
        total_tokens: count(&usage["total_tokens"]),
        reasoning_tokens: count(&usage["total_thought_tokens"]),
        cached_input_tokens: count(&usage["total_cached_tokens"]),
        ..TokenUsage::default()
    };
    (read != TokenUsage::default()).then_some(read)
}
