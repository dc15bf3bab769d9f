//! The context windows of the models, from their vendors' pages. The table needs upkeep; an app overrides an entry in
//! its run configuration (`ContextGuard::window` of `stepwell-core`).
//!
//! Sources: <https://platform.openai.com/docs/models>, <https://docs.claude.com/en/docs/about-claude/models/overview>,
//! <https://ai.google.dev/gemini-api/docs/models>, <https://docs.mistral.ai/getting-started/models>,
//! <https://docs.cohere.com/docs/models>, <https://console.groq.com/docs/models>,
//! <https://docs.together.ai/docs/serverless-models>.

use super::vendors::vendor_and_model;

/// The limits of a model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextWindow {
    /// The most tokens of the request and the answer together.
    pub window: u64,
    /// The most tokens of an answer; `None` where the vendor states no limit.
    pub output: Option<u64>,
}

/// Returns the limits that the vendor states for a model. Models of a family that is not listed, models at a custom
/// address, and Ollama's models, whose window depends on the server's settings, have no entry.
#[must_use]
pub fn context_window(provider: &str, model: &str) -> Option<ContextWindow> {
    let (provider, model) = vendor_and_model(provider, model);
    let (_, models) = WINDOWS.iter().find(|(name, _)| *name == provider)?;
    models
        .iter()
        .filter(|(prefix, ..)| starts_with(model, prefix))
        .max_by_key(|(prefix, ..)| prefix.len())
        .map(|&(_, window, output)| ContextWindow {
            window,
            output: (output > 0).then_some(output),
        })
}

/// Returns all entries of the table: the provider, the prefix of the models' names, and their limits.
pub fn context_windows() -> impl Iterator<Item = (&'static str, &'static str, ContextWindow)> {
    WINDOWS.iter().flat_map(|(provider, models)| {
        models.iter().map(|&(model, window, output)| {
            let output = (output > 0).then_some(output);
            (*provider, model, ContextWindow { window, output })
        })
    })
}

/// Returns whether the model is of the family: its name is the family's, or continues it with a separator and not with
/// the number of another version. `gpt-4` is a prefix of `gpt-4-0613`, but not of `gpt-4o` or `gpt-4.1`.
fn starts_with(model: &str, family: &str) -> bool {
    let rest = match (model.get(..family.len()), model.get(family.len()..)) {
        (Some(start), Some(rest)) if start.eq_ignore_ascii_case(family) => rest,
        _ => return false,
    };
    let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    !rest.starts_with(|next: char| next.is_ascii_alphanumeric()) && !(1..4).contains(&digits)
}

/// The beginning of the model's name, its window, and its longest answer (0 where none is named).
type Model = (&'static str, u64, u64);

const WINDOWS: &[(&str, &[Model])] = &[
    (
        "openai",
        &[
            ("gpt-5.5", 1_050_000, 128_000),
            ("gpt-5.4", 1_050_000, 128_000),
            ("gpt-5.4-mini", 400_000, 128_000),
            ("gpt-5.4-nano", 400_000, 128_000),
            ("gpt-5.2", 400_000, 128_000),
            ("gpt-5.2-chat", 128_000, 16_384),
            ("gpt-5.1", 400_000, 128_000),
            ("gpt-5.1-chat", 128_000, 16_384),
            ("gpt-5", 400_000, 128_000),
            ("gpt-5-chat", 128_000, 16_384),
            ("gpt-4.1", 1_047_576, 32_768),
            ("gpt-4o", 128_000, 16_384),
            ("gpt-4o-2024-05-13", 128_000, 4_096),
            ("chatgpt-4o", 128_000, 16_384),
            ("gpt-4-turbo", 128_000, 4_096),
            ("gpt-4", 8_192, 8_192),
            ("gpt-3.5-turbo", 16_385, 4_096),
            ("o4-mini", 200_000, 100_000),
            ("o3", 200_000, 100_000),
            ("o1", 200_000, 100_000),
            ("gpt-oss", 131_072, 131_072),
        ],
    ),
    (
        "anthropic",
        &[
            ("claude-fable-5", 1_000_000, 128_000),
            ("claude-fable-5-1", 1_000_000, 128_000),
            ("claude-fable-5-2", 1_000_000, 128_000),
            ("claude-opus-5-5", 1_000_000, 128_000),
            ("claude-opus-5", 1_000_000, 128_000),
            ("claude-sonnet-5-5", 1_000_000, 128_000),
            ("claude-sonnet-5", 1_000_000, 128_000),
            ("claude-haiku-5-5", 1_000_000, 128_000),
            ("claude-opus-4-6", 1_000_000, 128_000),
            ("claude-opus-4-5", 200_000, 64_000),
            ("claude-opus-4-1", 200_000, 32_000),
            ("claude-opus-4", 200_000, 32_000),
            ("claude-sonnet-4-5", 200_000, 64_000),
            ("claude-sonnet-4", 200_000, 64_000),
            ("claude-haiku-4-5", 200_000, 64_000),
            ("claude-3-7-sonnet", 200_000, 64_000),
            ("claude-3-5-sonnet", 200_000, 8_192),
            ("claude-3-5-haiku", 200_000, 8_192),
            ("claude-3-opus", 200_000, 4_096),
            ("claude-3-haiku", 200_000, 4_096),
        ],
    ),
    (
        "gemini",
        &[
            ("gemini-3.8-flash", 1_048_576, 65_536),
            ("gemini-3.5-flash", 1_048_576, 65_536),
            ("gemini-3.1-pro", 1_048_576, 65_536),
            ("gemini-3.1-flash-lite", 1_048_576, 65_536),
            ("gemini-3.1-flash-lite-image", 65_536, 32_768),
            ("gemini-3-pro", 1_048_576, 65_536),
            ("gemini-3-pro-image", 65_536, 32_768),
            ("gemini-3-flash", 1_048_576, 65_536),
            ("gemini-2.5-pro", 1_048_576, 65_536),
            ("gemini-2.5-flash", 1_048_576, 65_536),
            ("gemini-2.5-flash-image", 65_536, 32_768),
            ("gemini-2.0-flash", 1_048_576, 8_192),
            ("gemini-1.5-pro", 2_097_152, 8_192),
            ("gemini-1.5-flash", 1_048_576, 8_192),
        ],
    ),
    (
        "mistral",
        &[
            ("mistral-large", 262_144, 0),
            ("mistral-large-2411", 131_072, 0),
            ("mistral-large-2407", 131_072, 0),
            ("mistral-medium-2505", 131_072, 0),
            ("mistral-medium-2508", 131_072, 0),
            ("mistral-small-2506", 131_072, 0),
            ("magistral-medium-2509", 131_072, 0),
            ("magistral-small-2509", 131_072, 0),
            ("magistral-medium-2506", 40_960, 0),
            ("magistral-small-2506", 40_960, 0),
            ("codestral-2501", 262_144, 0),
            ("open-mistral-nemo", 131_072, 0),
            ("pixtral-large", 131_072, 0),
        ],
    ),
    (
        "cohere",
        &[
            ("command-a-03-2025", 256_000, 8_000),
            ("command-a-reasoning", 256_000, 32_000),
            ("command-a-vision", 128_000, 8_000),
            ("command-r-08-2024", 128_000, 4_000),
            ("command-r-plus-08-2024", 128_000, 4_000),
            ("command-r7b", 128_000, 4_000),
        ],
    ),
    (
        "groq",
        &[
            ("llama-3.3-70b-versatile", 131_072, 32_768),
            ("llama-3.1-8b-instant", 131_072, 131_072),
            ("meta-llama/llama-4-scout", 131_072, 8_192),
            ("meta-llama/llama-4-maverick", 131_072, 8_192),
            ("openai/gpt-oss-120b", 131_072, 65_536),
            ("openai/gpt-oss-20b", 131_072, 65_536),
            ("moonshotai/kimi-k2-instruct-0905", 262_144, 16_384),
            ("qwen/qwen3-32b", 131_072, 40_960),
            ("groq/compound", 131_072, 8_192),
        ],
    ),
    (
        "together",
        &[
            ("meta-llama/Llama-3.3-70B-Instruct-Turbo", 131_072, 0),
            ("openai/gpt-oss-120b", 131_072, 0),
            ("openai/gpt-oss-20b", 131_072, 0),
            ("moonshotai/Kimi-K2-Instruct-0905", 262_144, 0),
        ],
    ),
    (
        "fireworks",
        &[
            ("accounts/fireworks/models/gpt-oss-120b", 131_072, 0),
            ("accounts/fireworks/models/gpt-oss-20b", 131_072, 0),
            (
                "accounts/fireworks/models/llama-v3p3-70b-instruct",
                131_072,
                0,
            ),
            (
                "accounts/fireworks/models/kimi-k2-instruct-0905",
                262_144,
                0,
            ),
        ],
    ),
    (
        "nvidia",
        &[
            ("meta/llama-3.3-70b-instruct", 131_072, 0),
            ("openai/gpt-oss-120b", 131_072, 0),
            ("openai/gpt-oss-20b", 131_072, 0),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_goes_by_the_longest_name_that_it_begins_with() {
        let window = |provider, model| context_window(provider, model).map(|known| known.window);
        assert_eq!(window("openai", "gpt-4"), Some(8_192));
        assert_eq!(window("openai", "gpt-4-0613"), Some(8_192));
        assert_eq!(window("openai", "gpt-4o-mini"), Some(128_000));
        assert_eq!(window("openai", "GPT-4-turbo-2024-04-09"), Some(128_000));
        assert_eq!(window("anthropic", "claude-opus-4-20250514"), Some(200_000));
        assert_eq!(window("anthropic", "claude-opus-4-6"), Some(1_000_000));
        assert_eq!(
            window("openrouter", "anthropic/claude-sonnet-4-5"),
            Some(200_000)
        );
        assert_eq!(
            window("openrouter", "google/gemini-2.5-pro:free"),
            Some(1_048_576)
        );
        let sonnet = context_window("anthropic", "claude-sonnet-4-5-20250929");
        assert_eq!(sonnet.and_then(|known| known.output), Some(64_000));
    }

    /// A window that is too small would stop what fits: a later version is not taken for an earlier one.
    #[test]
    fn what_is_not_known_has_no_window() {
        for (provider, model) in [
            ("openai", "gpt-5.9"),
            ("openai", "gpt-4x"),
            ("anthropic", "claude-opus-4-9"),
            ("anthropic", "claude-sonnet-5-9-20270101"),
            ("anthropic", "claude"),
            ("ollama", "llama3.3"),
            ("openai-compatible", "gpt-4"),
            ("openrouter", "gpt-4"),
            ("openrouter", "nobody/gpt-4"),
            ("ag-ui", ""),
        ] {
            assert_eq!(context_window(provider, model), None, "{provider} {model}");
        }
    }

    #[test]
    fn the_table_is_sound() {
        let mut seen = std::collections::BTreeSet::new();
        for (provider, model, known) in context_windows() {
            assert!(super::super::find(provider).is_ok(), "{provider}");
            assert!(seen.insert((provider, model)), "{model} comes twice");
            assert!(
                known.output.is_none_or(|output| output <= known.window),
                "{model}"
            );
            assert!(known.window >= 8_192, "{model}");
            assert_eq!(context_window(provider, model), Some(known), "{model}");
        }
    }
}
