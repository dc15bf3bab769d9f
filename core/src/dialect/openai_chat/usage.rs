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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_are_whole_and_within_what_json_holds() {
        assert_eq!(count(&json!(12)), Some(12));
        assert_eq!(count(&json!(12.0)), Some(12));
        for odd in [
            json!(12.5),
            json!(-1),
            json!("12"),
            json!(1_u64 << 53),
            json!(1e300),
            Value::Null,
        ] {
            assert_eq!(count(&odd), None, "{odd}");
        }
    }

    #[test]
    fn usage_that_counts_nothing_is_none() {
        assert_eq!(
            read(&json!({"prompt_tokens": null, "queue_time": 0.1})),
            None
        );
        assert_eq!(read(&json!("lots")), None);
    }
}
