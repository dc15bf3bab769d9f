use crate::error::StepwellError;
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use stepwell_core::dialect::{self, Secret};
use stepwell_core::run;
use stepwell_core::tool::{Tool, ToolRegistry};
use stepwell_core::wire::FrameLimits;
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

/// A tool as the model sees it, and how it may be run. Its code stays with the app.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ToolDefinition {
    /// What the model calls it by: 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// The JSON Schema of its arguments, as JSON text; a tool without arguments if absent.
    #[uniffi(default = None)]
    pub parameters_json: Option<String>,
    /// Whether the person must allow each call.
    #[uniffi(default = false)]
    pub requires_approval: bool,
    /// Whether running it twice does no more than running it once. Only such a tool is run again after a crash.
    #[uniffi(default = false)]
    pub idempotent: bool,
    /// The longest it may take, in milliseconds; the run's own limit if absent.
    #[uniffi(default = None)]
    pub timeout_ms: Option<u64>,
}

impl TryFrom<ToolDefinition> for Tool {
    type Error = StepwellError;

    fn try_from(definition: ToolDefinition) -> Result<Self, StepwellError> {
        let mut tool = Self::new(definition.name, definition.description);
        if let Some(parameters) = definition.parameters_json {
            let schema = serde_json::from_str(&parameters).map_err(|error| {
                let reason = format!("the parameters of `{}` are not JSON: {error}", tool.name());
                StepwellError::configuration(&reason, "give their JSON Schema as JSON text")
            })?;
            tool = tool.parameters(schema);
        }
        tool.requires_approval = definition.requires_approval;
        tool.idempotent = definition.idempotent;
        tool.timeout = definition.timeout_ms.map(Duration::from_millis);
        Ok(tool)
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

/// How far a run may go.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Limits {
    /// The most rounds of tools in a turn.
    #[uniffi(default = 10)]
    pub max_tool_rounds: u32,
    /// What happens when the model asks for one more; the turn completes if absent.
    #[uniffi(default = None)]
    pub at_limit: Option<LimitPolicy>,
    /// The longest line of a stream, in bytes.
    #[uniffi(default = 10485760)]
    pub max_line_bytes: u64,
    /// The most data of one event of a stream, in bytes.
    #[uniffi(default = 10485760)]
    pub max_event_bytes: u64,
}

/// What happens when the model asks for tools beyond a limit of the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum LimitPolicy {
    /// The run fails.
    Fail,
    /// The run completes with the outcome that says so.
    Complete,
    /// The model gets one last hop without tools, to sum up.
    SumUp,
}

/// When a request that failed is tried again. Only before anything of the answer was seen.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct RetryPolicy {
    /// The most tries for one hop, the first included.
    #[uniffi(default = 4)]
    pub attempts: u32,
    /// The pause after the first failure, in milliseconds; it doubles with each further one.
    #[uniffi(default = 500)]
    pub first_delay_ms: u64,
    /// The longest pause, in milliseconds.
    #[uniffi(default = 8000)]
    pub max_delay_ms: u64,
    /// The longest `Retry-After` that is waited for, in milliseconds; the run fails if the provider asks for more.
    #[uniffi(default = 120000)]
    pub max_retry_after_ms: u64,
    /// By how much a pause may be shorter or longer, as a part of it: 0.2 is a fifth.
    #[uniffi(default = 0.2)]
    pub jitter: f64,
    /// Makes the jitter differ between apps. Equal seeds give equal pauses.
    #[uniffi(default = 0)]
    pub seed: u64,
}

/// How long things may take, in milliseconds; absent is without end.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Timeouts {
    /// How long the model may be silent, from the request or from its last bytes on.
    #[uniffi(default = Some(120000))]
    pub silence_ms: Option<u64>,
    /// How long a tool may take, if it does not say so itself.
    #[uniffi(default = Some(300000))]
    pub tool_ms: Option<u64>,
    /// How long a whole turn may take. Waiting for the person does not count.
    #[uniffi(default = None)]
    pub turn_ms: Option<u64>,
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
        let mut endpoint = provider::find(&self.provider)?.endpoint(
            self.api.as_deref(),
            &self.model,
            self.base_url.as_deref(),
            key,
        )?;
        endpoint.headers = self.headers.into_iter().collect();
        // A map has no order; equal configurations are to give equal requests.
        endpoint.headers.sort();
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
        })
    }
}

impl From<Limits> for run::Limits {
    fn from(limits: Limits) -> Self {
        let bytes = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        Self {
            max_tool_rounds: limits.max_tool_rounds,
            at_limit: match limits.at_limit {
                Some(LimitPolicy::Fail) => run::LimitPolicy::Fail,
                None | Some(LimitPolicy::Complete) => run::LimitPolicy::Complete,
                Some(LimitPolicy::SumUp) => run::LimitPolicy::SumUp,
            },
            frames: FrameLimits {
                line: bytes(limits.max_line_bytes),
                event: bytes(limits.max_event_bytes),
            },
            ..Self::default()
        }
    }
}

impl From<RetryPolicy> for run::RetryPolicy {
    fn from(policy: RetryPolicy) -> Self {
        Self {
            attempts: policy.attempts,
            first_delay: Duration::from_millis(policy.first_delay_ms),
            max_delay: Duration::from_millis(policy.max_delay_ms),
            max_retry_after: Duration::from_millis(policy.max_retry_after_ms),
            jitter: policy.jitter,
            seed: policy.seed,
        }
    }
}

impl From<Timeouts> for run::Timeouts {
    fn from(timeouts: Timeouts) -> Self {
        Self {
            silence: timeouts.silence_ms.map(Duration::from_millis),
            tool: timeouts.tool_ms.map(Duration::from_millis),
            turn: timeouts.turn_ms.map(Duration::from_millis),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults that every language writes out are the core's own.
    #[test]
    fn defaults_are_those_of_the_core() {
        let limits = Limits {
            max_tool_rounds: 10,
            at_limit: None,
            max_line_bytes: 10_485_760,
            max_event_bytes: 10_485_760,
        };
        assert_eq!(run::Limits::from(limits), run::Limits::default());
        let retry = RetryPolicy {
            attempts: 4,
            first_delay_ms: 500,
            max_delay_ms: 8000,
            max_retry_after_ms: 120_000,
            jitter: 0.2,
            seed: 0,
        };
        assert_eq!(run::RetryPolicy::from(retry), run::RetryPolicy::default());
        let timeouts = Timeouts {
            silence_ms: Some(120_000),
            tool_ms: Some(300_000),
            turn_ms: None,
        };
        assert_eq!(run::Timeouts::from(timeouts), run::Timeouts::default());
        assert_eq!(
            GenerationSettings::default().into_core(),
            Ok(dialect::GenerationSettings::default())
        );
    }
}
