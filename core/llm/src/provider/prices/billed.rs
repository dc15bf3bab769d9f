//! The billing of an answer's tokens: each dialect counts in its own way.

use super::super::dialect::Dialect;
use crate::Usd;
use crate::event::TokenUsage;
use serde_json::Value;

/// The tokens that are billed, each in one place.
pub(super) struct Billed {
    /// Of the request, neither from a cache nor into one.
    input: u64,
    cached: u64,
    written: u64,
    /// Into a cache that keeps them for an hour.
    written_for_an_hour: u64,
    /// Of the answer, with those of reasoning.
    output: u64,
}

impl Dialect {
    /// The tokens of one answer as they are billed; nothing if neither request nor answer was counted.
    pub(super) fn billed_tokens(self, usage: &TokenUsage) -> Option<Billed> {
        if usage.input_tokens.is_none() && usage.output_tokens.is_none() {
            return None;
        }
        let count = |count: Option<u64>| count.unwrap_or(0);
        let (mut input, mut output) = (count(usage.input_tokens), count(usage.output_tokens));
        let cached = count(usage.cached_input_tokens);
        let mut written = count(usage.cache_write_input_tokens);
        let mut written_for_an_hour = 0;
        match self {
            // Cached tokens are not included in the other tokens of the request.
            Self::Anthropic | Self::BedrockConverse => {
                let hour = usage.extra.get("cacheWrite1hInputTokens");
                written_for_an_hour = hour.and_then(Value::as_u64).unwrap_or(0).min(written);
                written -= written_for_an_hour;
            }
            _ => input = input.saturating_sub(cached.saturating_add(written)),
        }
        match self {
            // Reasoning is not included in the other tokens of the answer.
            Self::Gemini | Self::GeminiInteractions => {
                output = output.saturating_add(count(usage.reasoning_tokens));
            }
            // Cohere bills fewer tokens than it counts.
            Self::Cohere => {
                let billed = |name: &str| usage.extra.get(name)?.as_u64();
                input = billed("billedInputTokens").unwrap_or(input);
                output = billed("billedOutputTokens").unwrap_or(output);
            }
            _ => {}
        }
        Some(Billed {
            input,
            cached,
            written,
            written_for_an_hour,
            output,
        })
    }
}

impl Dialect {
    /// All tokens of the request, those from a cache or into one with them, however a provider of this dialect counts
    /// them.
    #[must_use]
    pub fn request_tokens(self, usage: &TokenUsage) -> Option<u64> {
        let cached = match self {
            Self::Anthropic | Self::BedrockConverse => usage
                .cached_input_tokens
                .unwrap_or(0)
                .saturating_add(usage.cache_write_input_tokens.unwrap_or(0)),
            _ => 0,
        };
        Some(usage.input_tokens?.saturating_add(cached))
    }

    /// All tokens of the answer, those of reasoning with them.
    #[must_use]
    pub fn answer_tokens(self, usage: &TokenUsage) -> Option<u64> {
        let reasoning = match self {
            Self::Gemini | Self::GeminiInteractions => usage.reasoning_tokens.unwrap_or(0),
            _ => 0,
        };
        Some(usage.output_tokens?.saturating_add(reasoning))
    }
}

impl Billed {
    /// The tokens of the request.
    pub(super) fn request(&self) -> u64 {
        let cached = self.cached.saturating_add(self.written);
        let all = self.input.saturating_add(cached);
        all.saturating_add(self.written_for_an_hour)
    }

    /// Returns what they cost at these prices for a million, in the order of the fields: rounded once, to the nearest
    /// billionth of a dollar.
    pub(super) fn cost(&self, prices: [Usd; 5]) -> Usd {
        const MILLION: u128 = 1_000_000;
        let tokens = [
            self.input,
            self.cached,
            self.written,
            self.written_for_an_hour,
            self.output,
        ];
        let parts = tokens.into_iter().zip(prices);
        let sum = parts.fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(tokens) * u128::from(price.nanos()))
        });
        let nanos = sum.saturating_add(MILLION / 2) / MILLION;
        Usd::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
