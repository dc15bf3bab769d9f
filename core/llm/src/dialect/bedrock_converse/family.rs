//! What differs between the models of Bedrock.

use super::super::anthropic;
use super::super::anthropic::Mark;

/// The vendor's family of a model, by the model's id or the name in its ARN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Anthropic's Claude.
    Claude,
    /// Amazon's Nova. Those after the first generation reason.
    Nova { reasons: bool },
    /// OpenAI's open models.
    GptOss,
    /// Another vendor's model.
    Other,
    /// An inference profile or a deployment of the app, whose ARN names no model.
    Unknown,
}

impl Family {
    pub(super) fn of(model: &str) -> Self {
        let has = |word: &str| model.contains(word);
        if has("claude") {
            Self::Claude
        } else if has("amazon.nova") {
            Self::Nova {
                reasons: has("nova-2"),
            }
        } else if has("openai.gpt-oss") {
            Self::GptOss
        } else if has("inference-profile/") || has("-deployment/") || has("imported-model/") {
            // The name of a profile that Bedrock has made begins with the model's region or vendor.
            match has(".") {
                true => Self::Other,
                false => Self::Unknown,
            }
        } else {
            Self::Other
        }
    }

    /// Returns whether a result can be marked as an error: `status`.
    ///
    /// Source: the documentation of `ToolResultBlock`.
    pub(super) fn marks_errors(self) -> bool {
        matches!(self, Self::Claude | Self::Nova { .. })
    }

    /// Returns whether the model takes cache points between messages and after the instructions.
    ///
    /// Source: <https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html>.
    pub(super) fn takes_cache_points(self) -> bool {
        matches!(self, Self::Claude | Self::Nova { .. } | Self::Unknown)
    }

    /// Returns whether the model takes cache points after the tools.
    pub(super) fn takes_cache_points_after_tools(self) -> bool {
        self == Self::Claude
    }

    /// Returns the mark as the model takes it: Nova keeps a prompt for five minutes alone.
    pub(super) fn mark(self, mark: Mark) -> Mark {
        match self {
            Self::Nova { .. } => Mark::FiveMinutes,
            _ => mark,
        }
    }
}

/// Returns whether the model conforms to a JSON Schema. Others refuse a request with one.
///
/// Source: <https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html>.
pub(in super::super) fn takes_schema(model: &str) -> bool {
    match Family::of(model) {
        Family::Claude => anthropic::version(model).is_some_and(|version| version >= (4, 5)),
        Family::GptOss => true,
        _ => ["qwen.qwen3", "deepseek.v3", "moonshotai.kimi"]
            .iter()
            .any(|name| model.contains(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_id_names_its_family() {
        for (model, family, schema) in [
            (
                "anthropic.claude-3-haiku-20240307-v1:0",
                Family::Claude,
                false,
            ),
            (
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                Family::Claude,
                true,
            ),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1",
                Family::Claude,
                true,
            ),
            (
                "amazon.nova-lite-v1:0",
                Family::Nova { reasons: false },
                false,
            ),
            (
                "global.amazon.nova-2-lite-v1:0",
                Family::Nova { reasons: true },
                false,
            ),
            ("openai.gpt-oss-120b-1:0", Family::GptOss, true),
            ("qwen.qwen3-32b-v1:0", Family::Other, true),
            ("meta.llama3-1-8b-instruct-v1:0", Family::Other, false),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.meta.llama3-3-70b-instruct-v1:0",
                Family::Other,
                false,
            ),
            (
                "arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2c3",
                Family::Unknown,
                false,
            ),
        ] {
            assert_eq!(Family::of(model), family, "{model}");
            assert_eq!(takes_schema(model), schema, "{model}");
        }
    }
}
