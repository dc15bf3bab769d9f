//! How a run is set up.

mod device;
mod limits;
mod tool_definition;

pub use device::{
    BackgroundPolicy, DevicePolicy, KilledPolicy, NetworkChangePolicy, OfflinePolicy,
};
pub use limits::{LimitPolicy, Limits, RepeatLimit, RetryPolicy, Timeouts};
pub use tool_definition::ToolDefinition;

use crate::error::StepwellError;
use std::collections::HashMap;
use std::fmt;
use stepwell_core::dialect::{self, Secret};
use stepwell_core::run;
use stepwell_core::tool::ToolRegistry;
use stepwell_core::{event, provider};

/// All that a run is to know before it starts: who answers, what tools there are, how far it may go.
///
/// It is no part of a snapshot, so keys never reach the store: the app gives it again when it restores a run.
#[derive(Clone, uniffi::Record)]
#[uniffi::export(Debug, Display)]
pub struct RunConfig {
    /// The provider's name, such as `openai` or `openai-compatible`.
    pub provider: String,
    /// The model; may be empty where the provider's requests name none.
    #[uniffi(default = "")]
    pub model: String,
    /// Which of the provider's APIs; its usual one if absent.
    #[uniffi(default = None)]
    pub api: Option<String>,
    /// An address in place of the provider's own; for AG-UI the agent's whole address.
    #[uniffi(default = None)]
    pub base_url: Option<String>,
    /// The API key. It is neither printed nor stored.
    #[uniffi(default = None)]
    pub key: Option<String>,
    /// Headers to send besides the provider's own.
    #[uniffi(default)]
    pub headers: HashMap<String, String>,
    /// The app's own instructions; sent first, and no part of the history.
    #[uniffi(default = None)]
    pub instructions: Option<String>,
    /// The tools on offer. An `Agent` made with handlers takes its tools with them instead.
    #[uniffi(default)]
    pub tools: Vec<ToolDefinition>,
    /// How the model is to answer.
    #[uniffi(default)]
    pub settings: GenerationSettings,
    /// How far a run may go.
    #[uniffi(default)]
    pub limits: Limits,
    /// When a request that failed is tried again.
    #[uniffi(default)]
    pub retry: RetryPolicy,
    /// How long things may take.
    #[uniffi(default)]
    pub timeouts: Timeouts,
    /// Who makes the ids of the continuations' runs; the core if absent. An `Agent` cannot ask the app for them.
    #[uniffi(default = None)]
    pub run_ids: Option<RunIds>,
    /// Whether the app stores what is said; it does not if absent. An `Agent` has no store.
    #[uniffi(default = None)]
    pub durability: Option<Durability>,
    /// Whether tool calls' arguments are parsed while they stream, for the event `PartialArguments` and
    /// `RunMachine.partial_arguments_json`. It takes time and memory in proportion to the arguments.
    #[uniffi(default = false)]
    pub partial_arguments: bool,
    /// What happens when the app is suspended or killed, or the network goes or changes.
    #[uniffi(default)]
    pub device: DevicePolicy,
    /// Whether the server gives each event of a stream an id, and goes on after the one that a request names in
    /// `Last-Event-ID`: a stream that breaks off is then resumed, not failed. As Stepwell knows the provider if absent.
    #[uniffi(default = None)]
    pub resumes_by_event_id: Option<bool>,
}

impl fmt::Debug for RunConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.name).collect();
        f.debug_struct("RunConfig")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("api", &self.api)
            .field("base_url", &self.base_url)
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for RunConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// How the model is to answer. What is absent is as the provider has it.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct GenerationSettings {
    /// Randomness.
    #[uniffi(default = None)]
    pub temperature: Option<f64>,
    /// The most tokens of an answer.
    #[uniffi(default = None)]
    pub max_output_tokens: Option<u32>,
    /// Whether the model may, must or must not call tools; it may if absent.
    #[uniffi(default = None)]
    pub tool_choice: Option<ToolChoice>,
    /// Whether it may ask for several tools at once.
    #[uniffi(default = None)]
    pub parallel_tool_calls: Option<bool>,
    /// Fields for the request's body in the provider's own words, a JSON object; they win over Stepwell's.
    #[uniffi(default = None)]
    pub extra_json: Option<String>,
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolChoice {
    /// As the model sees fit.
    Auto,
    /// None, though tools may be on offer.
    Never,
    /// At least one.
    Required,
    /// The tool of this name.
    Named {
        /// The tool.
        name: String,
    },
}

/// Who makes the ids of the continuations' runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum RunIds {
    /// The core, from the turn's own: `turn.1`, `turn.2`, …
    Derived,
    /// The backend: the app is asked to create each run first.
    Host,
}

/// Whether the app stores what is said.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Durability {
    /// Each finished block is stored, and what depends on it waits until it is.
    Blocks {
        /// How often a write that fails is tried, the first time included, before the run fails.
        attempts: u32,
    },
}

impl RunConfig {
    /// The core's configuration, with all tools registered.
    pub(crate) fn into_core(self) -> Result<run::RunConfig, StepwellError> {
        let key = self.key.map(Secret::from);
        let catalog = match &self.providers_json {
            None => provider::Catalog::default(),
            Some(json) => provider::Catalog::from_json(json).map_err(|error| {
                let advice = "give an object whose `providers` is a list, as `stepwell --providers` takes it";
                StepwellError::configuration(&error, advice)
            })?,
        };
        let mut endpoint = catalog.find(&self.provider)?.endpoint(
            self.api.as_deref(),
            &self.model,
            self.base_url.as_deref(),
            key,
        )?;
        endpoint.headers.extend(self.headers);
        // A map has no order; equal configurations are to give equal requests.
        endpoint.headers.sort();
        if let Some(resumes) = self.resumes_by_event_id {
            endpoint.quirks.resumes_by_event_id = resumes;
        }
        let mut tools = ToolRegistry::new();
        for tool in self.tools {
            tools = tools.register(tool.try_into()?)?;
        }
        let mut config = run::RunConfig::new(endpoint);
        config.tools = tools;
        config.instructions = self.instructions;
        config.settings = self.settings.into_core()?;
        config.limits = self.limits.into();
        config.retry = self.retry.into();
        config.timeouts = self.timeouts.into();
        config.run_ids = match self.run_ids {
            None | Some(RunIds::Derived) => run::RunIds::Derived,
            Some(RunIds::Host) => run::RunIds::Host,
        };
        config.durability = match self.durability {
            None => run::Durability::None,
            Some(Durability::Blocks { attempts }) => run::Durability::Blocks { attempts },
        };
        config.partial_arguments = self.partial_arguments;
        config.device = self.device.into();
        Ok(config)
    }
}

impl GenerationSettings {
    fn into_core(self) -> Result<dialect::GenerationSettings, StepwellError> {
        let extra = match self.extra_json {
            None => event::Metadata::new(),
            Some(json) => serde_json::from_str(&json).map_err(|error| {
                let reason = format!("`extra_json` is no JSON object: {error}");
                StepwellError::configuration(&reason, "give the fields of the body as one object")
            })?,
        };
        Ok(dialect::GenerationSettings {
            temperature: self.temperature,
            max_output_tokens: self.max_output_tokens,
            tool_choice: match self.tool_choice {
                None | Some(ToolChoice::Auto) => dialect::ToolChoice::Auto,
                Some(ToolChoice::Never) => dialect::ToolChoice::None,
                Some(ToolChoice::Required) => dialect::ToolChoice::Required,
                Some(ToolChoice::Named { name }) => dialect::ToolChoice::Named(name),
            },
            parallel_tool_calls: self.parallel_tool_calls,
            extra,
            ..dialect::GenerationSettings::default()
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As every language writes it out.
    pub(crate) fn limits() -> Limits {
        Limits {
            max_tool_rounds: 10,
            max_tool_calls: None,
            max_tokens: None,
            max_duration_ms: None,
            max_parallel_tools: 8,
            repeats: RepeatLimit {
                tell_after: Some(3),
                stop_after: Some(5),
            },
            at_limit: None,
            max_line_bytes: 10_485_760,
            max_event_bytes: 10_485_760,
        }
    }

    /// As every language writes it out.
    pub(crate) fn retry() -> RetryPolicy {
        RetryPolicy {
            attempts: 4,
            first_delay_ms: 500,
            max_delay_ms: 8000,
            max_retry_after_ms: 120_000,
            jitter: 0.2,
            seed: 0,
        }
    }

    /// As every language writes it out.
    pub(crate) fn timeouts() -> Timeouts {
        Timeouts {
            silence_ms: Some(120_000),
            tool_ms: Some(300_000),
            turn_ms: None,
            approval_ms: None,
            deferred_ms: None,
        }
    }

    #[test]
    fn settings_that_are_left_out_are_those_of_the_core() {
        assert_eq!(
            GenerationSettings::default().into_core(),
            Ok(dialect::GenerationSettings::default())
        );
    }
}
