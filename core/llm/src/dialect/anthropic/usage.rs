use super::super::lenient::count;
use crate::event::TokenUsage;
use serde_json::Value;

/// The count of the tokens that were written to the cache for an hour, among all that were written.
pub(in super::super) const WRITTEN_FOR_AN_HOUR: &str = "cacheWrite1hInputTokens";

/// Updates the usage from a `usage` object. The last value of each count applies.
pub(super) fn update(usage: &mut Option<TokenUsage>, wire: &Value) {
    let counts = [
        count(&wire["input_tokens"]),
        count(&wire["output_tokens"]),
        count(&wire["output_tokens_details"]["thinking_tokens"]),
        count(&wire["cache_read_input_tokens"]),
        count(&wire["cache_creation_input_tokens"]),
    ];
    if counts.iter().all(Option::is_none) {
        return;
    }
    let usage = usage.get_or_insert_default();
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
