//! How a long conversation is kept from filling the model's context window.

use super::FallbackModel;
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use serde::Deserialize;
use stepwell_core::run;

/// The policy for a conversation that begins to fill the model's context window: requests then carry less of it.
///
/// The conversation itself stays complete, and the turns that follow begin from what is carried. Has no effect for models
/// whose window is not known, nor for AG-UI agents, which keep a conversation of their own.
#[derive(Clone, Debug, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CompactionPolicy {
    /// The ways, in their order: the next one is used if the conversation is still above `at`. Nothing is compacted
    /// without any.
    #[uniffi(default = [])]
    pub ways: Vec<CompactionWay>,
    /// The part of the context that the next request must exceed for the conversation to be compacted before it: 0.8, the
    /// default, is four fifths.
    #[uniffi(default = 0.8)]
    pub at: f64,
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self {
            ways: Vec::new(),
            at: run::CompactionPolicy::default().at,
        }
    }
}

/// A way to make a conversation shorter.
#[derive(Clone, Debug, Deserialize, uniffi::Enum)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
#[allow(
    clippy::large_enum_variant,
    reason = "a configuration has one or two of them"
)]
pub enum CompactionWay {
    /// The results of old tool calls are replaced by a short marker. The calls stay, and so do the results that the model
    /// has not seen.
    DropResults {
        /// The number of newest results that stay.
        keep: u32,
    },
    /// A model writes a summary of the older messages, which are then left out. Its request is retried as any other, and is
    /// part of the turn's cost; hooks do not see it. If no summary comes, the turn continues without one.
    Summary {
        /// The model that writes the summaries; the turn's own model if absent. Most languages' `Agent` takes it as an
        /// option of its own.
        #[uniffi(default = None)]
        #[serde(default)]
        model: Option<FallbackModel>,
        /// The instructions for the model, instead of Stepwell's.
        #[uniffi(default = None)]
        #[serde(default)]
        instructions: Option<String>,
        /// The part of the context that the newest messages may fill, which stay as they are: a quarter by default.
        #[uniffi(default = 0.25)]
        #[serde(default = "kept")]
        keep: f64,
    },
    /// The provider compacts the conversation itself, with the request that exceeds the limit: Anthropic and OpenAI's
    /// Responses (and Azure's) can. The ways after this one are used if the model's provider cannot, or the request would
    /// not fit at all.
    Provider,
    /// The app chooses what to leave out: with the effect `TrimContext`, or by an `Agent` with its `trim_context`.
    Host,
}

fn kept() -> f64 {
    run::SummaryPolicy::default().keep
}

impl CompactionPolicy {
    pub(super) fn into_core(
        self,
        providers: Option<&JsonValue>,
    ) -> Result<run::CompactionPolicy, StepwellError> {
        let ways = self.ways.into_iter().map(|way| way.into_core(providers));
        Ok(run::CompactionPolicy {
            at: self.at,
            ways: ways.collect::<Result<_, _>>()?,
        })
    }
}

impl CompactionWay {
    fn into_core(self, providers: Option<&JsonValue>) -> Result<run::CompactionWay, StepwellError> {
        Ok(match self {
            Self::DropResults { keep } => run::CompactionWay::DropResults { keep },
            Self::Summary {
                model,
                instructions,
                keep,
            } => {
                let model = model.map(|model| model.into_core(providers)).transpose()?;
                run::CompactionWay::Summary(run::SummaryPolicy {
                    model: model.map(Box::new),
                    instructions,
                    keep,
                })
            }
            Self::Provider => run::CompactionWay::Provider,
            Self::Host => run::CompactionWay::Host,
        })
    }
}
