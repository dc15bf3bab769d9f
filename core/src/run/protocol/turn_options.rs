//! The options of one turn that differ from those of its agent.

use super::config::{Limits, RunConfig};
use crate::dialect::{GenerationSettings, shown_headers};
use crate::provider::{self, EndpointError};
use crate::tool::{OutputType, ToolRegistry};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

/// The options of one turn that override its [`RunConfig`]; absent options are taken from there.
///
/// The options are part of the run's snapshot. A revived turn therefore continues with the same instructions, tools,
/// settings, limits and type of answer, without the app passing them again. Two things are not stored. The first is the
/// `headers`, which may be secret: the requests of a revived turn carry only those of the configuration. The second is
/// the code of the `tools`, which the host has: for a call that it has no code for, it returns a failure that says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnOptions {
    /// The app's instructions, instead of [`RunConfig::instructions`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The configuration's tools on offer, by name; all of them if absent. A call of another one is handled like that
    /// of an unknown tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_names: Option<Vec<String>>,
    /// Tools for this turn only, in addition to those. One replaces the configuration's tool of the same name.
    #[serde(skip_serializing_if = "ToolRegistry::is_empty")]
    pub tools: ToolRegistry,
    /// The generation settings: all of them, instead of [`RunConfig::settings`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<GenerationSettings>,
    /// The turn's limits: all of them, instead of [`RunConfig::limits`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The end user that the turn is for, instead of [`GenerationSettings::user`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The type of the answer, instead of [`RunConfig::output`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputType>,
    /// Whether requests carry the complete conversation again: a compaction by an earlier turn is taken away, for this turn
    /// and for those that follow it. The turn itself may compact the conversation again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole_history: bool,
    /// Additional headers. One replaces the endpoint's of the same name. A journal has their names, a snapshot does
    /// not.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "shown_headers"
    )]
    pub headers: Vec<(String, String)>,
}

impl TurnOptions {
    /// Returns whether the turn uses its configuration unchanged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the same options with headers for this turn.
    ///
    /// # Errors
    /// One of them is not a valid header.
    pub fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, EndpointError> {
        for (name, value) in headers {
            self.headers.push(provider::header(name, value)?);
        }
        Ok(self)
    }

    /// Returns the names of the tools that the turn should offer and the configuration does not have.
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
            whole_history: _,
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
