use super::super::lenient::{count, dollars};
use crate::event::TokenUsage;
use serde_json::Value;

/// Reads a `usage` object; `None` where it counts nothing.
pub(super) fn read(usage: &Value) -> Option<TokenUsage> {
    let prompt = &usage["prompt_tokens_details"];
    let mut read = TokenUsage {
        input_tokens: count(&usage["prompt_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
        total_tokens: count(&usage["total_tokens"]),
        reasoning_tokens: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        // The second is DeepSeek's, the third Moonshot's and Together's, the last that of gateways to Anthropic, whose
        // `prompt_tokens` have these tokens too.
        cached_input_tokens: count(&prompt["cached_tokens"])
            .or_else(|| count(&usage["prompt_cache_hit_tokens"]))
            .or_else(|| count(&usage["cached_tokens"]))
            .or_else(|| count(&usage["cache_read_input_tokens"])),
        cache_write_input_tokens: count(&prompt["cache_write_tokens"])
            .or_else(|| count(&prompt["cache_creation_tokens"]))
            .or_else(|| count(&usage["cache_creation_input_tokens"])),
        // OpenRouter's.
        cost: dollars(&usage["cost"]),
        ..TokenUsage::default()
    };
    let completion = &usage["completion_tokens_details"];
    for (name, value) in [
        ("audioInputTokens", &prompt["audio_tokens"]),
        ("audioOutputTokens", &completion["audio_tokens"]),
        (
            "acceptedPredictionTokens",
            &completion["accepted_prediction_tokens"],
        ),
        (
            "rejectedPredictionTokens",
            &completion["rejected_prediction_tokens"],
        ),
    ] {
        // Providers without this feature send zero.
        if let Some(count) = count(value).filter(|count| *count > 0) {
            read.extra.insert(name.to_owned(), count.into());
        }
    }
    (read != TokenUsage::default()).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usd;
    use serde_json::json;

    #[test]
    fn what_only_some_count_is_kept_beside_the_rest() {
        let read = read(&json!({
            "prompt_tokens": 1, "cached_tokens": 2, "cost": 0.5, "prompt_tokens_details": {"audio_tokens": 3},
            "completion_tokens_details": {"audio_tokens": 0, "accepted_prediction_tokens": 4}
        }));
        let read = read.expect("it counts");
        assert_eq!(read.cached_input_tokens, Some(2));
        assert_eq!(read.cost, Some(Usd::from_nanos(500_000_000)));
        assert_eq!(
            Value::Object(read.extra),
            json!({"audioInputTokens": 3, "acceptedPredictionTokens": 4})
        );
    }

    #[test]
    fn each_servers_counts_of_its_cache_are_read() {
        for (usage, cached, written) in [
            (
                json!({"prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 7}}),
                5,
                Some(7),
            ),
            (
                json!({"prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 2}),
                5,
                None,
            ),
            (json!({"cached_tokens": 5}), 5, None),
            (
                json!({"cache_read_input_tokens": 5, "cache_creation_input_tokens": 7}),
                5,
                Some(7),
            ),
            (
                json!({"prompt_tokens_details": {"cached_tokens": 5, "cache_creation_tokens": 7}}),
                5,
                Some(7),
            ),
        ] {
            let read = read(&usage).expect("it counts");
            assert_eq!(read.cached_input_tokens, Some(cached), "{usage}");
            assert_eq!(read.cache_write_input_tokens, written, "{usage}");
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
