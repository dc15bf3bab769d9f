//! What is otherwise for one turn than for the others of its agent.

use super::config::{Limits, RunConfig};
use crate::dialect::{GenerationSettings, shown_headers};
use crate::provider::{self, EndpointError};
use crate::tool::{OutputType, ToolRegistry};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

/// What one turn has otherwise than its [`RunConfig`] says; what is absent is as there.
///
/// It is part of the run's snapshot, so that a turn which comes back goes on with the same instructions, tools, settings,
/// limits and type of answer, without the app giving them again. Two things are not stored. The `headers`, which may be secret: the
/// requests of a turn that comes back carry those of the configuration alone. And the code of the `tools`, which the
/// host has: it answers a call that it has no code for with a failure that says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnOptions {
    /// The app's instructions, in the place of [`RunConfig::instructions`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Which of the configuration's tools are on offer, by name; all of them if absent. A call of another one is answered
    /// as that of a tool that is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_names: Option<Vec<String>>,
    /// Tools of this turn's own, on offer beside those. One takes the place of the configuration's tool of its name.
    #[serde(skip_serializing_if = "ToolRegistry::is_empty")]
    pub tools: ToolRegistry,
    /// How the model is to answer: all of it, in the place of [`RunConfig::settings`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<GenerationSettings>,
    /// How far the turn may go: all of it, in the place of [`RunConfig::limits`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The end user that the turn is for, in the place of [`GenerationSettings::user`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What the answer is to be, in the place of [`RunConfig::output`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputType>,
    /// Headers to send besides: one takes the place of the endpoint's of its name. A journal has their names, a snapshot
    /// has none.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "shown_headers"
    )]
    pub headers: Vec<(String, String)>,
}

impl TurnOptions {
    /// Whether the turn is as its configuration says.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same, with headers of the turn's own.
    ///
    /// # Errors
    /// One of them is no header.
    pub fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, EndpointError> {
        for (name, value) in headers {
            self.headers.push(provider::header(name, value)?);
        }
        Ok(self)
    }

    /// The names of the tools that the turn is to offer, and that the configuration does not have.
    #[must_use]
    pub fn unknown_tools(&self, config: &RunConfig) -> Vec<&str> {
        let names = self.tool_names.iter().flatten().map(String::as_str);
        names
            .filter(|name| config.tools.get(name).is_none())
            .collect()
    }

    /// The configuration of the turn.
    pub(crate) fn over(&self, config: Arc<RunConfig>) -> Arc<RunConfig> {
        if self.is_empty() {
            return config;
        }
        // Every field is named, so that a new one makes its author decide.
        let Self {
            instructions,
            tool_names,
            tools,
            settings,
            limits,
            user,
            output,
            headers,
        } = self;
        let mut config = Arc::unwrap_or_clone(config);
        if instructions.is_some() {
            config.instructions.clone_from(instructions);
        }
        if tool_names.is_some() || !tools.is_empty() {
            config.tools = offered(&config.tools, tool_names.as_deref(), tools);
        }
        if let Some(settings) = settings {
            config.settings = settings.clone();
        }
        if user.is_some() {
            config.settings.user.clone_from(user);
        }
        if let Some(limits) = limits {
            config.limits = *limits;
        }
        if output.is_some() {
            config.output.clone_from(output);
        }
        config.endpoint.put_headers(headers);
        Arc::new(config)
    }

    /// Writes what a snapshot has of it.
    pub(in crate::run) fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.headers.is_empty() {
            return self.serialize(serializer);
        }
        let stored = Self {
            headers: Vec::new(),
            ..self.clone()
        };
        stored.serialize(serializer)
    }
}

/// The configuration's tools that are on offer, and the turn's own.
fn offered(all: &ToolRegistry, names: Option<&[String]>, own: &ToolRegistry) -> ToolRegistry {
    let is_offered = |name: &str| {
        let is_named = names.is_none_or(|names| names.iter().any(|each| each == name));
        is_named && own.get(name).is_none()
    };
    all.only(is_offered).with_all(own)
}
