//! The amount of thinking, in the form that the model's version takes.
//!
//! Source: <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>, and
//! <https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>.

use super::super::{GenerationSettings, ToolChoice};
use crate::provider::ReasoningEffort;
use serde_json::{Value, json};

/// The fields about thinking in a request.
#[derive(Debug, Default, PartialEq)]
pub(in super::super) struct Thinking {
    /// The field `thinking`.
    pub(in super::super) thinking: Option<Value>,
    /// The field `effort` of `output_config`.
    pub(in super::super) effort: Option<&'static str>,
    /// The number of tokens for thinking, in addition to the answer's.
    pub(in super::super) budget: u32,
    /// Whether the model should not think.
    pub(in super::super) is_off: bool,
    /// Whether the model takes no temperature.
    pub(in super::super) no_temperature: bool,
}

/// The version of a Claude model, by its name: `(4, 5)` for `claude-sonnet-4-5-20250929`. `None` for other names.
pub(in super::super) fn version(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.split_once("claude")?;
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    // A date has more digits.
    let number = |word: &str| (word.len() < 3).then(|| word.parse().ok()).flatten();
    let major = words.find_map(number)?;
    Some((major, words.next().and_then(number).unwrap_or(0)))
}

/// Returns whether a model with this name thinks by default.
fn thinks_by_default(model: &str) -> bool {
    version(model).is_some_and(|version| version >= (5, 0))
}

/// The smallest budget that the API accepts.
const LEAST_BUDGET: u32 = 1024;

impl Thinking {
    /// Chooses how the model thinks. `may_think` is whether the history allows thinking with a budget; `room` is the
    /// number of tokens that the model has in addition to those of the answer.
    pub(in super::super) fn new(
        model: &str,
        settings: &GenerationSettings,
        may_think: bool,
        room: u32,
    ) -> Self {
        // A name without a version is some other provider's model, and has what is oldest.
        let version = version(model).unwrap_or((0, 0));
        let is_adaptive = version >= (4, 6);
        let thinks_by_default = thinks_by_default(model);
        let refuses_temperature = version >= (4, 7);
        // A forced call leaves no room for thinking.
        let is_forced = matches!(
            settings.tool_choice,
            ToolChoice::Required | ToolChoice::Named(_)
        );
        let effort = match settings.reasoning {
            Some(ReasoningEffort::Off) => None,
            None if thinks_by_default => Some(None),
            None => None,
            Some(effort) => Some(Some(effort)),
        };
        let Some(effort) = effort.filter(|_| !is_forced && (is_adaptive || may_think)) else {
            return Self {
                thinking: thinks_by_default.then(|| json!({"type": "disabled"})),
                is_off: true,
                no_temperature: refuses_temperature,
                ..Self::default()
            };
        };
        let (name, budget) = match effort {
            Some(ReasoningEffort::Low) => ("low", 2048),
            Some(ReasoningEffort::High) => ("high", 16_384),
            _ => ("medium", 8192),
        };
        let budget = room.clamp(LEAST_BUDGET, budget);
        let thinking = match effort {
            None => None,
            // These show nothing of it unless asked to.
            Some(_) if refuses_temperature => {
                Some(json!({"type": "adaptive", "display": "summarized"}))
            }
            Some(_) if is_adaptive => Some(json!({"type": "adaptive"})),
            Some(_) => Some(json!({"type": "enabled", "budget_tokens": budget})),
        };
        Self {
            thinking,
            effort: effort.filter(|_| is_adaptive).map(|_| name),
            budget,
            is_off: false,
            no_temperature: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_name_has_its_version() {
        for (name, is) in [
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-sonnet-4-5@20250929", Some((4, 5))),
            ("claude-sonnet-5", Some((5, 0))),
            ("anthropic/claude-opus-4.6", Some((4, 6))),
            ("anthropic/claude-4.6-opus", Some((4, 6))),
            ("anthropic.claude-sonnet-4-5-20250929-v1:0", Some((4, 5))),
            ("claude-instant", None),
            ("MiniMax-M2", None),
        ] {
            assert_eq!(version(name), is, "{name}");
        }
    }
}
