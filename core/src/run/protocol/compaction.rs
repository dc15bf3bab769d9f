//! Compaction: how a conversation is kept from filling the model's context window.

use super::config::RunConfig;
use super::fallback::FallbackModel;
use crate::dialect::{Dialect, GenerationSettings, Resumption};
use serde::{Deserialize, Serialize};

/// The policy for a conversation that begins to fill the model's context window: requests then carry less of it.
///
/// The conversation itself stays complete. What requests leave out is recorded in the turn
/// ([`BlockContent::Compacted`](super::BlockContent::Compacted)), so that the turns that follow begin from there. A turn that
/// branches off before it, or has the option [`TurnOptions::whole_history`](super::TurnOptions::whole_history), begins from
/// the complete conversation. A call and its results stay together, and so do reasoning and the answer that it led to.
///
/// The sizes are those of [`ContextGuard`](super::ContextGuard): without a known window nothing is compacted. An AG-UI agent
/// keeps a conversation of its own, which is never compacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionPolicy {
    /// The part of the context that the next request must exceed for the conversation to be compacted before it: 0.8 is
    /// four fifths, the default.
    pub at: f64,
    /// The ways, in their order: the next one is used if the conversation is still above `at`. Nothing is compacted without
    /// any.
    pub ways: Vec<CompactionWay>,
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self {
            at: 0.8,
            ways: Vec::new(),
        }
    }
}

/// A way to make the conversation shorter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CompactionWay {
    /// The results of old tool calls are replaced by a short marker. The calls stay. The results of the last round, which
    /// the model has not seen, stay in any case.
    DropResults {
        /// The number of newest results that stay.
        keep: u32,
    },
    /// A model writes a summary of the older messages, which are then left out.
    Summary(SummaryPolicy),
    /// The provider compacts the conversation itself, with the request that exceeds the limit: Anthropic and OpenAI's
    /// Responses (and Azure's) can. The answer has what the provider wants back instead of the messages before it; another
    /// provider is still sent those. The ways after this one are used if the model's provider cannot, or the request
    /// would not fit at all.
    Provider,
    /// The host chooses what to leave out, with [`Effect::TrimContext`](super::Effect::TrimContext).
    Host,
}

/// The policy for summaries by a model.
///
/// The model is asked with a request of its own, which is retried, waits for the network and is revived as any other. Its
/// cost is part of the turn's. It is given the messages as text, without tools; hooks do not see that request. If no summary
/// comes, the turn continues without one, and asks for none again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SummaryPolicy {
    /// The model that writes the summaries; the turn's own model if absent. Without settings of its own it has the
    /// provider's defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<FallbackModel>>,
    /// The instructions for the model, instead of Stepwell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The part of the context that the newest messages may fill, which stay as they are: 0.25 by default.
    pub keep: f64,
}

impl Default for SummaryPolicy {
    fn default() -> Self {
        Self {
            model: None,
            instructions: None,
            keep: 0.25,
        }
    }
}

impl CompactionPolicy {
    /// Returns the policy with the default limit and this way.
    #[must_use]
    pub fn with(way: CompactionWay) -> Self {
        Self {
            ways: vec![way],
            ..Self::default()
        }
    }

    /// Returns whether nothing is ever compacted.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.ways.is_empty()
    }

    /// Returns the policy for summaries, if a way has one.
    #[must_use]
    pub fn summary(&self) -> Option<&SummaryPolicy> {
        self.ways.iter().find_map(|way| match way {
            CompactionWay::Summary(summary) => Some(summary),
            _ => None,
        })
    }
}

impl RunConfig {
    /// Returns the model that writes summaries, if it is not the turn's own.
    #[must_use]
    pub fn summary_model(&self) -> Option<&FallbackModel> {
        self.compaction.summary()?.model.as_deref()
    }

    /// Returns the configuration of the requests for a summary, instead of those of a turn that asks its own model.
    pub(in crate::run) fn for_summary(&self) -> Self {
        let mut config = self.clone();
        match self.summary_model() {
            Some(model) => {
                config.endpoint.clone_from(&model.endpoint);
                config.credentials = model.credentials;
                config.settings = model.settings.clone().unwrap_or_default();
            }
            None => {
                config.settings = GenerationSettings {
                    user: self.settings.user.clone(),
                    ..GenerationSettings::default()
                };
            }
        }
        // A summary that breaks off has shown nothing: it is asked for again.
        config.endpoint.quirks.resumption = Resumption::Never;
        config
    }

    /// Checks that the compaction can work.
    ///
    /// # Errors
    /// The model for summaries is an AG-UI agent, or the limit is no part of the context.
    pub fn check_compaction(&self) -> Result<(), CompactionError> {
        if self.compaction.is_off() {
            return Ok(());
        }
        let CompactionPolicy { at, .. } = self.compaction;
        if !(at > 0.0 && at <= 1.0) {
            return Err(CompactionError::NoPart { at });
        }
        match self.summary_model().map(|model| &model.endpoint) {
            Some(endpoint) if endpoint.dialect == Dialect::AgUi => Err(CompactionError::Agent {
                provider: endpoint.provider.clone(),
            }),
            _ => Ok(()),
        }
    }
}

/// The error of a compaction that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CompactionError {
    /// The model for summaries is an AG-UI agent.
    #[error("`{provider}` is an AG-UI agent, and writes no summaries: name a provider's model")]
    Agent {
        /// The provider of the agent.
        provider: String,
    },
    /// The limit is no part of the context.
    #[error("{at} is no part of the context: `at` is above 0, and 1 at most")]
    NoPart {
        /// The limit.
        at: f64,
    },
}
