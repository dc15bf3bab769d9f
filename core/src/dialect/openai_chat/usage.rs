use super::super::lenient::count;
use crate::event::TokenUsage;
use serde_json::Value;

/// Reads a `usage` object; `None` where it counts nothing.
pub(super) fn read(usage: &Value) -> Option<TokenUsage> {
    let prompt = &usage["prompt_tokens_details"];
    let read = TokenUsage {
        input_tokens: count(&usage["prompt_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
        total_tokens: count(&usage["total_tokens"]),
        reasoning_tokens: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        // The second is DeepSeek's.
        cached_input_tokens: count(&prompt["cached_tokens"])
            .or_else(|| count(&usage["prompt_cache_hit_tokens"])),
        cache_write_input_tokens: count(&prompt["cache_write_tokens"]),
        ..TokenUsage::default()
    };
    (read != TokenUsage::default()).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usage_that_counts_nothing_is_none() {
        assert_eq!(
            read(&json!({"prompt_tokens": null, "queue_time": 0.1})),
            None
        );
        assert_eq!(read(&json!("lots")), None);
    }
}
