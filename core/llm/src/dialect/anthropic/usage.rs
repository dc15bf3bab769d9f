use super::super::lenient::count;
use super::super::provider_compaction::COMPACTION;
use crate::event::TokenUsage;
use serde_json::Value;

/// The count of the tokens that were written to the cache for an hour, among all that were written.
pub(in super::super) const WRITTEN_FOR_AN_HOUR: &str = "cacheWrite1hInputTokens";

/// The count of the tokens with which the provider compacted the conversation, among all others. They are not part of the
/// next request.
pub(in super::super) const OF_COMPACTION: &str = "compactionTokens";

const INPUT: &str = "input_tokens";
const OUTPUT: &str = "output_tokens";
const CACHE_READ: &str = "cache_read_input_tokens";
const CACHE_WRITE: &str = "cache_creation_input_tokens";

/// Updates the usage from a `usage` object. The last value of each count applies.
///
/// The provider's own compaction is not part of its counts, but of what it bills: it is counted here.
/// Source: <https://platform.claude.com/docs/en/build-with-claude/compaction>.
pub(super) fn update(usage: &mut Option<TokenUsage>, wire: &Value) {
    let mut of_compaction = 0_u64;
    let mut counted = |name: &str| {
        let own = count(&wire[name])?;
        let compaction = compactions(wire).filter_map(|iteration| count(&iteration[name]));
        let compaction = compaction.fold(0, u64::saturating_add);
        of_compaction = of_compaction.saturating_add(compaction);
        Some(own.saturating_add(compaction))
    };
    let counts = [
        counted(INPUT),
        counted(OUTPUT),
        count(&wire["output_tokens_details"]["thinking_tokens"]),
        counted(CACHE_READ),
        counted(CACHE_WRITE),
    ];
    if counts.iter().all(Option::is_none) {
        return;
    }
    let usage = usage.get_or_insert_default();
    if of_compaction > 0 {
        let of_compaction = of_compaction.into();
        usage.extra.insert(OF_COMPACTION.to_owned(), of_compaction);
    }
    // These cost more than those that are kept for five minutes.
    if let Some(hour) = count(&wire["cache_creation"]["ephemeral_1h_input_tokens"])
        && (hour > 0 || usage.extra.contains_key(WRITTEN_FOR_AN_HOUR))
    {
        usage
            .extra
            .insert(WRITTEN_FOR_AN_HOUR.to_owned(), hour.into());
    }
    let known = [
        &mut usage.input_tokens,
        &mut usage.output_tokens,
        &mut usage.reasoning_tokens,
        &mut usage.cached_input_tokens,
        &mut usage.cache_write_input_tokens,
    ];
    for (known, count) in known.into_iter().zip(counts) {
        *known = count.or(*known);
    }
}

/// Returns the usage of each compaction.
fn compactions(wire: &Value) -> impl Iterator<Item = &Value> {
    let iterations = wire["iterations"].as_array();
    let iterations = iterations.into_iter().flatten();
    iterations.filter(|iteration| iteration["type"] == COMPACTION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Dialect;
    use serde_json::json;

    #[test]
    fn a_compaction_is_billed_and_is_no_part_of_the_next_request() {
        let mut usage = None;
        update(&mut usage, &json!({"input_tokens": 3, "output_tokens": 1}));
        update(
            &mut usage,
            &json!({
                "input_tokens": 23_000,
                "output_tokens": 1_000,
                "iterations": [
                    {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
                    {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
                ],
            }),
        );
        let usage = usage.expect("it was counted");
        assert_eq!(usage.input_tokens, Some(203_000));
        assert_eq!(usage.output_tokens, Some(4_500));
        assert_eq!(Dialect::Anthropic.context_tokens(&usage), Some(24_000));
    }
}
