//! The parameters that a model accepts of those of its API. The table needs upkeep; an app adds its own models with a
//! [`Catalog`](super::Catalog), or sets them for one endpoint in [`Quirks::model`](super::Quirks::model).
//!
//! Sources: <https://platform.openai.com/docs/guides/reasoning>, <https://platform.openai.com/docs/guides/latest-model>
//! (parameter compatibility), <https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort>
//! (efforts by model), <https://platform.openai.com/docs/models>; for `gpt-5.6`
//! <https://github.com/itzcrazykns/vane/issues/1173>. The parameters of Claude follow from the version in its name: see
//! the dialect `anthropic`.

use serde::{Deserialize, Serialize};

/// The rules of a model: the parameters that its API accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelRules {
    /// The lowest effort that the model accepts.
    pub least_effort: LeastEffort,
    /// The requests in which the model accepts a temperature.
    pub temperature: TakesTemperature,
    /// The field for the time that a prompt stays in OpenAI's cache.
    #[serde(skip_serializing_if = "CacheField::is_fixed")]
    pub cache: CacheField,
}

/// The field of OpenAI's requests for the time that a prompt stays cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CacheField {
    /// None: the model takes neither field, or it is not known to.
    #[default]
    Fixed,
    /// `prompt_cache_retention`, for models before `gpt-5.6`.
    Retention,
    /// `prompt_cache_options`.
    Options,
}

impl CacheField {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

/// The lowest reasoning effort that a model accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum LeastEffort {
    /// The model never thinks. Requests name no effort and contain no reasoning.
    NeverThinks,
    /// The model can answer without thinking.
    #[default]
    None,
    /// Next to nothing.
    Minimal,
    /// A little.
    Low,
}

/// The requests in which a model accepts a temperature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum TakesTemperature {
    /// All requests.
    #[default]
    Always,
    /// Requests that do not ask the model to think.
    WithoutReasoning,
    /// No request.
    Never,
}

/// The amount of thinking before an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ReasoningEffort {
    /// No thinking, or as little as the model can do.
    Off,
    /// Little thinking.
    Low,
    /// A moderate amount of thinking.
    Medium,
    /// Much thinking.
    High,
}

/// The rules of models whose names have the same prefix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFamily {
    /// The prefix of the names. The family with the longest prefix that matches applies.
    pub name: String,
    /// The rules of these models.
    #[serde(flatten)]
    pub rules: ModelRules,
}

impl ModelRules {
    /// Returns the effort in the words of OpenAI's APIs, or `None` if the request should not name one.
    pub(crate) fn effort(self, effort: ReasoningEffort) -> Option<&'static str> {
        Some(match (effort, self.least_effort) {
            (_, LeastEffort::NeverThinks) => return None,
            (ReasoningEffort::Off, LeastEffort::None) => "none",
            (ReasoningEffort::Off, LeastEffort::Minimal) => "minimal",
            (ReasoningEffort::Off, LeastEffort::Low) | (ReasoningEffort::Low, _) => "low",
            (ReasoningEffort::Medium, _) => "medium",
            (ReasoningEffort::High, _) => "high",
        })
    }

    /// Returns whether the model may think.
    pub(crate) fn may_think(self) -> bool {
        self.least_effort != LeastEffort::NeverThinks
    }

    /// Returns whether the model accepts a temperature together with this effort.
    pub(crate) fn takes_temperature(self, effort: Option<ReasoningEffort>) -> bool {
        match self.temperature {
            TakesTemperature::Always => true,
            TakesTemperature::Never => false,
            TakesTemperature::WithoutReasoning => {
                matches!(effort, None | Some(ReasoningEffort::Off))
            }
        }
    }
}

/// Returns the rules that the table has for a model, or the default rules.
pub(super) fn of_table(model: &str) -> ModelRules {
    longest(MODELS.iter().copied(), short_name(model)).unwrap_or_default()
}

/// Returns the rules of the family that the model belongs to.
pub(super) fn of_families(families: &[ModelFamily], model: &str) -> Option<ModelRules> {
    let families = families.iter();
    longest(
        families.map(|family| (family.name.as_str(), family.rules)),
        model,
    )
}

fn longest<'a>(
    families: impl Iterator<Item = (&'a str, ModelRules)>,
    model: &str,
) -> Option<ModelRules> {
    let families = families.filter(|(name, _)| model.starts_with(name));
    let family = families.max_by_key(|(name, _)| name.len());
    family.map(|(_, rules)| rules)
}

/// Returns the model's name without the prefix of a gateway or a fine-tuned model.
fn short_name(model: &str) -> &str {
    model
        .rsplit_once('/')
        .map_or(model, |(_, name)| name)
        .trim_start_matches("ft:")
}

const fn rules(least_effort: LeastEffort, temperature: TakesTemperature) -> ModelRules {
    ModelRules {
        least_effort,
        temperature,
        cache: CacheField::Fixed,
    }
}

impl ModelRules {
    const fn with_cache(self, cache: CacheField) -> Self {
        Self { cache, ..self }
    }
}

const MODELS: &[(&str, ModelRules)] = {
    use LeastEffort::{Low, Minimal, NeverThinks, None};
    use TakesTemperature::{Always, Never, WithoutReasoning};
    const RETENTION: CacheField = CacheField::Retention;
    const OPTIONS: CacheField = CacheField::Options;
    &[
        ("gpt-3", rules(NeverThinks, Always)),
        ("gpt-4", rules(NeverThinks, Always)),
        ("gpt-4.1", rules(NeverThinks, Always).with_cache(RETENTION)),
        // The small ones are not on the list of those with `prompt_cache_retention`.
        ("gpt-4.1-mini", rules(NeverThinks, Always)),
        ("gpt-4.1-nano", rules(NeverThinks, Always)),
        ("chatgpt", rules(NeverThinks, Always)),
        ("gpt-5", rules(Minimal, Never).with_cache(RETENTION)),
        ("gpt-5-mini", rules(Minimal, Never)),
        ("gpt-5-nano", rules(Minimal, Never)),
        ("gpt-5-pro", rules(Minimal, Never)),
        ("gpt-5-chat", rules(NeverThinks, Always)),
        (
            "gpt-5.",
            rules(None, WithoutReasoning).with_cache(RETENTION),
        ),
        ("gpt-5.6", rules(None, Never).with_cache(OPTIONS)),
        ("gpt-oss", rules(Low, Always)),
        ("o1", rules(Low, Never)),
        ("o3", rules(Low, Never)),
        ("o4", rules(Low, Never)),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_name_counts() {
        for (model, least_effort) in [
            ("gpt-4o", LeastEffort::NeverThinks),
            ("ft:gpt-4.1:me", LeastEffort::NeverThinks),
            ("openai/gpt-5-mini", LeastEffort::Minimal),
            ("gpt-5-chat-latest", LeastEffort::NeverThinks),
            ("gpt-5.2", LeastEffort::None),
            ("openai/gpt-oss-20b", LeastEffort::Low),
            ("o4-mini", LeastEffort::Low),
            ("grok-4", LeastEffort::None),
        ] {
            let rules = longest(MODELS.iter().copied(), short_name(model)).unwrap_or_default();
            assert_eq!(rules.least_effort, least_effort, "{model}");
        }
    }
}
