//! The tokens of a run.

use stepwell_core::dialect::Endpoint;
use stepwell_core::event::TokenUsage;

/// Returns what the model calls of a run cost: all that the turn cost, without what its earlier runs have reported.
pub(crate) fn usage_since(
    all: TokenUsage,
    before: &TokenUsage,
    endpoint: Option<&Endpoint>,
) -> Option<TokenUsage> {
    let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    let less = |all: Option<u64>, before: Option<u64>| {
        all.map(|all| all.saturating_sub(before.unwrap_or(0)))
    };
    let usage = TokenUsage {
        input_tokens: less(all.input_tokens, before.input_tokens),
        output_tokens: less(all.output_tokens, before.output_tokens),
        total_tokens: less(all.total_tokens, before.total_tokens),
        reasoning_tokens: less(all.reasoning_tokens, before.reasoning_tokens),
        cached_input_tokens: less(all.cached_input_tokens, before.cached_input_tokens),
        cache_write_input_tokens: less(
            all.cache_write_input_tokens,
            before.cache_write_input_tokens,
        ),
        cost: all
            .cost
            .map(|cost| cost.saturating_sub(before.cost.unwrap_or_default())),
        provider: all.provider.or_else(|| named(&endpoint?.provider)),
        model: all.model.or_else(|| named(&endpoint?.model)),
        ..TokenUsage::default()
    };
    let is_known = usage.input_tokens.is_some()
        || usage.output_tokens.is_some()
        || usage.total_tokens.is_some();
    is_known.then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_io::provider;

    fn endpoint() -> Endpoint {
        let provider = provider::find("openai").expect("a provider");
        let key = Some("sk-secret".into());
        provider
            .endpoint(None, "m", None, key)
            .expect("an endpoint")
    }

    #[test]
    fn a_run_reports_only_its_own_tokens() {
        let usage = |input, output| TokenUsage {
            provider: Some("openai".to_owned()),
            model: Some("m".to_owned()),
            input_tokens: input,
            output_tokens: output,
            ..TokenUsage::default()
        };
        let since = |all, before| usage_since(all, &before, Some(&endpoint()));
        let own = since(usage(Some(10), Some(5)), usage(Some(4), None));
        assert_eq!(own, Some(usage(Some(6), Some(5))));
        assert_eq!(since(usage(None, None), usage(None, None)), None);
    }
}
