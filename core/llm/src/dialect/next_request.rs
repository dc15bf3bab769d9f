//! The size of an answer as a part of the next request.

use super::anthropic::OF_COMPACTION;
use crate::event::TokenUsage;
use crate::provider::Dialect;
use serde_json::Value;

impl Dialect {
    /// Returns how many tokens of the next request the provider has already counted: those of the last request, and
    /// those of its answer that are sent back. Returns `None` if the provider did not count the tokens of this
    /// conversation.
    #[must_use]
    pub fn context_tokens(self, usage: &TokenUsage) -> Option<u64> {
        let count = |count: Option<u64>| count.unwrap_or(0);
        let (cached, reasoning) = match self {
            // An agent asks models of its own, any number of them.
            Self::AgUi => return None,
            // Cached tokens are not included in the other tokens of the request.
            Self::Anthropic => (
                count(usage.cached_input_tokens)
                    .saturating_add(count(usage.cache_write_input_tokens)),
                count(usage.reasoning_tokens),
            ),
            // Reasoning is not included in the other tokens of the answer.
            Self::Gemini | Self::GeminiInteractions => (0, 0),
            // Reasoning is not sent back.
            _ => (0, count(usage.reasoning_tokens)),
        };
        let answer = count(usage.output_tokens).saturating_sub(reasoning);
        let tokens = usage.input_tokens?.saturating_add(cached);
        let of_compaction = usage.extra.get(OF_COMPACTION).and_then(Value::as_u64);
        let tokens = tokens.saturating_add(answer);
        Some(tokens.saturating_sub(count(of_compaction)))
    }

    /// Returns whether an answer with this stop reason has only paused, within the provider's own tools or after a
    /// compaction. Such an answer continues when it is sent back.
    #[must_use]
    pub fn pauses_with(self, stop_reason: &str) -> bool {
        self == Self::Anthropic && matches!(stop_reason, "pause_turn" | "compaction")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_counts_in_its_own_way() {
        let usage = TokenUsage {
            input_tokens: Some(100),
            output_tokens: Some(50),
            cached_input_tokens: Some(30),
            cache_write_input_tokens: Some(5),
            reasoning_tokens: Some(20),
            ..TokenUsage::default()
        };
        let tokens = |dialect: Dialect| dialect.context_tokens(&usage);
        assert_eq!(tokens(Dialect::OpenAiChat), Some(130));
        assert_eq!(tokens(Dialect::Anthropic), Some(165));
        assert_eq!(tokens(Dialect::Gemini), Some(150));
        assert_eq!(tokens(Dialect::AgUi), None);
        let nothing = TokenUsage::default();
        assert_eq!(Dialect::OpenAiChat.context_tokens(&nothing), None);
    }
}
