use super::super::Endpoint;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn usd(text: &str) -> Usd {
    text.parse().expect("an amount")
}

fn usage(input: u64, cached: u64, written: u64, output: u64, reasoning: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        reasoning_tokens: Some(reasoning),
        cached_input_tokens: Some(cached),
        cache_write_input_tokens: Some(written),
        ..TokenUsage::default()
    }
}

fn endpoint(provider: &str, model: &str) -> Endpoint {
    let provider = super::super::find(provider).expect("a provider");
    provider
        .endpoint(None, model, Some("http://localhost/v1"), None)
        .expect("an endpoint")
}

#[test]
fn what_anthropic_keeps_for_an_hour_costs_twice_as_much() {
    let claude = endpoint("anthropic", "claude-sonnet-4-5");
    let mut usage = usage(0, 0, 100_000, 0, 0);
    assert_eq!(claude.cost(&usage), Some(usd("0.375")));
    let mut for_an_hour = |count: u64| {
        let name = "cacheWrite1hInputTokens".to_owned();
        usage.extra.insert(name, count.into());
        claude.cost(&usage)
    };
    assert_eq!(for_an_hour(100_000), Some(usd("0.6")));
    assert_eq!(for_an_hour(40_000), Some(usd("0.465")));
    // No more than were written.
    assert_eq!(for_an_hour(900_000), Some(usd("0.6")));
}

#[test]
fn a_model_has_the_price_of_its_versions_and_of_no_other() {
    let input = |provider, model| model_price(provider, model).map(|price| price.input);
    for (provider, model, price) in [
        ("openai", "gpt-4o", "2.5"),
        ("openai", "GPT-4o-2024-08-06", "2.5"),
        ("openai", "gpt-4o-2024-05-13", "5"),
        ("openai", "gpt-4o-mini-2024-07-18", "0.15"),
        ("anthropic", "claude-opus-4-1-20250805", "15"),
        ("anthropic", "claude-opus-4-5@20251101", "5"),
        ("gemini", "gemini-2.5-flash-001", "0.3"),
        ("mistral", "mistral-small-latest", "0.15"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "3"),
        (
            "fireworks",
            "accounts/fireworks/models/gpt-oss-120b",
            "0.15",
        ),
    ] {
        assert_eq!(input(provider, model), Some(usd(price)), "{model}");
    }
    for (provider, model) in [
        ("openai", "gpt-4o-nano"),
        ("openai", "gpt-4ox"),
        ("openai", "gpt-5.9"),
        ("anthropic", "claude-opus-4-9"),
        ("anthropic", "claude-opus-5-20"),
        ("openrouter", "google/gemini-2.5-pro:free"),
        ("openrouter", "gpt-4o"),
        ("ollama", "llama3.3"),
        ("openai-compatible", "gpt-4o"),
        ("ag-ui", ""),
    ] {
        assert_eq!(input(provider, model), None, "{provider} {model}");
    }
}

#[test]
fn the_table_is_sound() {
    let mut seen = BTreeSet::new();
    for (provider, model, price) in model_prices() {
        assert!(super::super::find(provider).is_ok(), "{provider}");
        assert!(seen.insert((provider, model)), "{model} comes twice");
        assert_eq!(model_price(provider, model), Some(price), "{model}");
        assert!(price.input > Usd::ZERO, "{model} costs nothing");
        assert!(price.output >= price.input, "{model}");
        assert!(
            price.cached_input.is_none_or(|cached| cached < price.input),
            "{model}"
        );
        assert!(
            price.long_context.is_none_or(|long| long.above >= 1_000
                && long.input >= price.input
                && long.output >= price.output),
            "{model}"
        );
    }
    assert!(seen.len() > 200);
}

/// A million tokens of each kind, where a token of each kind has a price of its own.
#[test]
fn every_dialect_is_billed_as_it_counts() {
    let mut price = ModelPrice::new(usd("1"), usd("1000"));
    price.cached_input = Some(usd("10"));
    price.cache_write_input = Some(usd("100"));
    let million = 1_000_000;
    let cost = |dialect, usage| price.cost(dialect, &usage).map(|cost| cost.to_string());
    // Three millions, one of them from a cache and one into it.
    let among = usage(3 * million, million, million, 2 * million, million);
    assert_eq!(
        cost(Dialect::OpenAiChat, among.clone()).as_deref(),
        Some("$2111.00")
    );
    let beside = usage(million, million, million, 2 * million, million);
    assert_eq!(
        cost(Dialect::Anthropic, beside).as_deref(),
        Some("$2111.00")
    );
    let reasoning_beside = usage(3 * million, million, million, million, million);
    assert_eq!(
        cost(Dialect::Gemini, reasoning_beside).as_deref(),
        Some("$2111.00")
    );
    let mut billed = usage(3 * million, 0, 0, 3 * million, 0);
    billed
        .extra
        .insert("billedInputTokens".into(), million.into());
    assert_eq!(cost(Dialect::Cohere, billed).as_deref(), Some("$3001.00"));
    assert_eq!(cost(Dialect::Ollama, TokenUsage::default()), None);
}

#[test]
fn a_long_request_costs_more_in_all_its_tokens() {
    let price = model_price("gemini", "gemini-2.5-pro").expect("it is listed");
    let cost = |input| price.cost(Dialect::Gemini, &usage(input, 0, 0, 1_000, 0));
    assert_eq!(cost(200_000), Some(usd("0.26")));
    assert_eq!(cost(200_001), Some(usd("0.5150025")));
}

#[test]
fn an_endpoint_has_the_price_of_its_model() {
    let listed = endpoint("openai", "gpt-4o-mini-2024-07-18");
    assert_eq!(
        listed.quirks.price.map(|price| price.input),
        Some(usd("0.15"))
    );
    let counted = usage(1_000_000, 0, 0, 1_000_000, 0);
    assert_eq!(listed.cost(&counted), Some(usd("0.75")));
    let unknown = endpoint("openai-compatible", "mine");
    assert_eq!(unknown.cost(&counted), None);
    let own = r#"{"providers": [{"name": "mine", "dialect": "openai-chat", "base_url": "http://localhost/v1",
        "prices": {"": {"input": 0, "output": 0}, "big": {"input": 1.5, "output": 2}}}]}"#;
    let own = super::super::Catalog::from_json(own).expect("a catalog");
    for (model, cost) in [("big-1", "3.5"), ("small", "0")] {
        let endpoint = own.find("mine").expect("it is there");
        let endpoint = endpoint.endpoint(None, model, None, None);
        assert_eq!(
            endpoint.expect("an endpoint").cost(&counted),
            Some(usd(cost))
        );
    }
}

proptest! {
    /// More tokens never cost less, nothing is lost to rounding but less than a billionth of a dollar an answer, and
    /// two answers cost what both cost.
    #[test]
    fn what_more_tokens_cost_is_more(
        input in 0..2_000_000_u64, output in 0..200_000_u64, more in 0..1_000_000_u64, row in 0..100_usize,
    ) {
        let (_, _, price) = model_prices().nth(row).expect("there are more than a hundred");
        let cost = |input, output| {
            price.cost(Dialect::OpenAiChat, &usage(input, 0, 0, output, 0)).expect("it was counted")
        };
        let both = cost(input, output);
        prop_assert!(cost(input + more, output) >= both);
        prop_assert!(cost(input, output + more) >= both);
        if price.long_context.is_none() {
            let apart = cost(input, 0).saturating_add(cost(0, output));
            prop_assert!(both.nanos().abs_diff(apart.nanos()) <= 1);
        }
    }

    #[test]
    fn no_count_of_tokens_is_too_much(counts in any::<[u64; 5]>(), dialect in prop::sample::select(vec![
        Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini, Dialect::Cohere,
    ])) {
        let [input, cached, written, output, reasoning] = counts;
        let price = ModelPrice::new(Usd::from_nanos(u64::MAX), Usd::from_nanos(1));
        prop_assert!(price.cost(dialect, &usage(input, cached, written, output, reasoning)).is_some());
    }
}
