//! The models that a turn may ask besides its own, and when it asks them.

use super::config::RunConfig;
use super::credentials::Credentials;
use super::problem::ErrorKind;
use crate::dialect::{Dialect, Endpoint, GenerationSettings};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The models that a turn may ask besides [`RunConfig::endpoint`], and when it asks them.
///
/// A model is asked in place of another one when that one has failed, after its retries ([`RetryPolicy`](super::RetryPolicy)).
/// The turn stays with the model that answers, and no hop asks one model twice so. Only models of providers take part: the
/// backend of an AG-UI agent keeps a conversation of its own.
///
/// A model is named by its number: 0 is [`RunConfig::endpoint`], 1 the first of `models`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fallback {
    /// The other models, in the order in which they are asked.
    pub models: Vec<FallbackModel>,
    /// The kinds of failure after which another model is asked. By default the model is overloaded, its rate limit is used up,
    /// its server has failed or cannot be reached, or it took too long. [`ErrorKind::OutputInvalid`] includes empty answers
    /// and calls that cannot be read.
    pub after: Vec<ErrorKind>,
    /// Whether another model is asked even if the user has seen a part of the answer. The part stays, marked as
    /// [cut](crate::run::CUT), and the other model answers in a message of its own. False by default: the turn fails.
    pub after_text: bool,
    /// The time for which a model that has failed is not asked first.
    pub rest: Duration,
    /// What chooses the model of each hop.
    pub choice: ModelChoice,
}

impl Default for Fallback {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            after: vec![
                ErrorKind::Overloaded,
                ErrorKind::RateLimit,
                ErrorKind::ServerError,
                ErrorKind::Connection,
                ErrorKind::Timeout,
            ],
            after_text: false,
            rest: Duration::from_secs(60),
            choice: ModelChoice::default(),
        }
    }
}

/// A model that may be asked in place of another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FallbackModel {
    /// The endpoint of the model.
    pub endpoint: Endpoint,
    /// The settings of the model, instead of [`RunConfig::settings`]. Without them a model of another provider has those of the
    /// configuration but for [`extra`](GenerationSettings::extra), which are one provider's own fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GenerationSettings>,
    /// The source of the key and the headers of its requests.
    #[serde(default)]
    pub credentials: Credentials,
}

impl From<Endpoint> for FallbackModel {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            settings: None,
            credentials: Credentials::default(),
        }
    }
}

/// What chooses the model of each hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ModelChoice {
    /// The order: a turn begins with the first model that is not resting, and stays with it until it fails.
    #[default]
    InOrder,
    /// The host is asked before each hop, with [`Effect::ChooseModel`](crate::run::Effect::ChooseModel).
    Host,
}

/// A model by its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ModelName {
    /// The provider's name, as in [`Endpoint::provider`].
    pub provider: String,
    /// The provider's name for the model.
    pub model: String,
}

/// What a choice of a hop's model depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct HopContext {
    /// The hop, from 0.
    pub hop: u32,
    /// The models, by their numbers.
    pub models: Vec<HopModel>,
    /// The number of the model that the hop before asked; that of the first hop is the model that comes first now.
    pub current: u32,
    /// The names of the tools whose results the hop brings the model.
    pub tools: Vec<String>,
    /// The estimated number of tokens of the conversation.
    pub tokens: u64,
}

/// A model that a hop may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct HopModel {
    /// The names of the model.
    pub name: ModelName,
    /// Whether the model has failed a short time ago.
    pub is_resting: bool,
}

impl Fallback {
    /// Returns whether there is no other model.
    pub(in crate::run) fn is_none(&self) -> bool {
        self.models.is_empty()
    }
}

impl HopContext {
    /// Returns the number of the model with this name; `None` if there is none.
    #[must_use]
    pub fn number_of(&self, model: &str) -> Option<u32> {
        let at = self.models.iter().position(|it| it.name.model == model)?;
        u32::try_from(at).ok()
    }
}

impl ModelName {
    /// Returns the names of an endpoint's model.
    #[must_use]
    pub fn of(endpoint: &Endpoint) -> Self {
        Self {
            provider: endpoint.provider.clone(),
            model: endpoint.model.clone(),
        }
    }
}

impl RunConfig {
    /// Returns the endpoints of all models that a turn may ask, by their numbers.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let others = self.fallback.models.iter().map(|other| &other.endpoint);
        std::iter::once(&self.endpoint).chain(others)
    }

    /// Returns the number of models that a turn may ask; 1 without a fallback.
    pub(in crate::run) fn model_count(&self) -> u32 {
        let others = self.fallback.models.len();
        u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Returns the configuration of a turn that asks the model with this number; the same if there is none.
    pub(in crate::run) fn asking(&self, model: u32) -> Self {
        let mut config = self.clone();
        let other = model.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        if let Some(other) = other.and_then(|at| self.fallback.models.get(at)) {
            match &other.settings {
                Some(settings) => config.settings.clone_from(settings),
                // The fields of one provider mean nothing to another.
                None if other.endpoint.provider != config.endpoint.provider => {
                    config.settings.extra.clear();
                }
                None => {}
            }
            config.endpoint.clone_from(&other.endpoint);
            config.credentials = other.credentials;
        }
        config
    }

    /// Checks that the models of the fallback can take each other's place.
    ///
    /// # Errors
    /// One of them is an AG-UI agent, which keeps a conversation of its own.
    pub fn check_fallback(&self) -> Result<(), FallbackError> {
        let is_agent = |endpoint: &&Endpoint| endpoint.dialect == Dialect::AgUi;
        match self.endpoints().find(is_agent) {
            Some(agent) if !self.fallback.models.is_empty() => Err(FallbackError {
                provider: agent.provider.clone(),
            }),
            _ => Ok(()),
        }
    }
}

/// The error of a fallback that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{provider}` is an AG-UI agent, and cannot take the place of a model or be replaced by one: use models of providers alone"
)]
pub struct FallbackError {
    /// The provider of the agent.
    pub provider: String,
}
