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
        // OpenRouter's.
        cache_write_input_tokens: count(&input["cache_write_tokens"]),
        ..TokenUsage::default()
    };
    (read != TokenUsage::default()).then_some(read)
}

/// A count, also where it is written as `12.0`. What an AG-UI event cannot hold, 2^53 and more, is no count.
fn count(value: &Value) -> Option<u64> {
    const LIMIT: u64 = 1 << 53;
    let count = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        // Within the range checked here the cast is exact.
        (float.fract() == 0.0 && (0.0..LIMIT as f64).contains(&float)).then_some(float as u64)
    })?;
    (count < LIMIT).then_some(count)
}
