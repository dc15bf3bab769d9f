use super::super::lenient::{count, dollars};
use crate::event::TokenUsage;
use serde_json::Value;

/// Reads a `usage` object; `None` where it counts nothing.
pub(super) fn read(usage: &Value) -> Option<TokenUsage> {
    let input = &usage["input_tokens_details"];
    let read = TokenUsage {
        input_tokens: count(&usage["input_tokens"]),
        output_tokens: count(&usage["output_tokens"]),
        total_tokens: count(&usage["total_tokens"]),
        reasoning_tokens: count(&usage["output_tokens_details"]["reasoning_tokens"]),
        cached_input_tokens: count(&input["cached_tokens"]),
        // This count and the cost come only from OpenRouter.
        cache_write_input_tokens: count(&input["cache_write_tokens"]),
        cost: dollars(&usage["cost"]),
        ..TokenUsage::default()
    };
    (read != TokenUsage::default()).then_some(read)
}
