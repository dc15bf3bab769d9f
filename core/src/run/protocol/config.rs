use super::compaction::CompactionPolicy;
use super::context::ContextGuard;
use super::credentials::Credentials;
use super::device::DevicePolicy;
use super::fallback::Fallback;
use super::hook::HookSpec;
use super::retry::RetryPolicy;
use super::text_options::TextOptions;
use crate::Usd;
use crate::dialect::{Dialect, Endpoint, GenerationSettings, Quirks};
use crate::pipeline::AnswerLimits;
use crate::provider::UnknownPrice;
use crate::tool::{OutputType, ToolRegistry};
use crate::wire::FrameLimits;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The configuration of a run. It is not part of a snapshot: the host supplies it again at restore, so keys never reach the
/// store.
///
/// A [journal](crate::journal) begins with the configuration, in a form without keys: a later field needs a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The endpoint of the model or agent.
    pub endpoint: Endpoint,
    /// The tools on offer.
    pub tools: ToolRegistry,
    /// The app's instructions; they are sent first, and are not part of the history.
    pub instructions: Option<String>,
    /// The settings of the model.
    pub settings: GenerationSettings,
    /// The limits of a turn.
    pub limits: Limits,
    /// The policy for retries of failed requests.
    pub retry: RetryPolicy,
    /// The models that are asked when the endpoint's has failed, or is not chosen.
    #[serde(default, skip_serializing_if = "Fallback::is_none")]
    pub fallback: Fallback,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// The source of the hops' run ids.
    pub run_ids: RunIds,
    /// Whether the host stores blocks.
    pub durability: Durability,
    /// The source of the key and the headers of requests.
    pub credentials: Credentials,
    /// The policy for an app that is suspended or killed, and for a network that is lost or changes.
    pub device: DevicePolicy,
    /// Whether tool calls' arguments are parsed while they stream, for
    /// [`RunEvent::PartialArguments`](crate::run::RunEvent::PartialArguments) and
    /// [`RunMachine::partial_arguments`](crate::run::RunMachine::partial_arguments). Off by default; the cost in time and
    /// memory is linear in the arguments.
    pub partial_arguments: bool,
    /// The options for showing the model's text.
    pub text: TextOptions,
    /// The policy for a conversation that fills the model's context window.
    // The name in journals.
    #[serde(rename = "context")]
    pub context_guard: ContextGuard,
    /// The policy for a conversation that begins to fill that window.
    #[serde(default, skip_serializing_if = "CompactionPolicy::is_off")]
    pub compaction: CompactionPolicy,
    /// The type of the answer, if it is more than text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputType>,
    /// The host's hooks, in the order in which they are called. Their code is never stored: a restored run calls the hooks of
    /// its new configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
    /// Whether each change of state is an output, [`Output::Moved`](crate::run::Output::Moved), for tests and traces. Off by
    /// default, and then without cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_moves: bool,
}

impl RunConfig {
    /// Creates the default configuration for an endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            tools: ToolRegistry::new(),
            instructions: None,
            settings: GenerationSettings::default(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
            fallback: Fallback::default(),
            timeouts: Timeouts::default(),
            run_ids: RunIds::default(),
            durability: Durability::default(),
            credentials: Credentials::default(),
            device: DevicePolicy::default(),
            partial_arguments: false,
            text: TextOptions::default(),
            context_guard: ContextGuard::default(),
            compaction: CompactionPolicy::default(),
            output: None,
            hooks: Vec::new(),
            tells_moves: false,
        }
    }

    /// Checks that [`Limits::max_cost`] can be enforced if it is set: the price of each model is known, or its provider reports
    /// the cost of each answer. The hosts for tokio and for other languages refuse a configuration that fails the check; a
    /// run without them warns at its start.
    ///
    /// # Errors
    /// A model has no price.
    pub fn check_price(&self) -> Result<(), UnknownPrice> {
        if self.limits.max_cost.is_none() {
            return Ok(());
        }
        let is_unknown =
            |endpoint: &&Endpoint| !endpoint.tells_cost() && endpoint.quirks.price.is_none();
        let summaries = self.summary_model().map(|model| &model.endpoint);
        match self.endpoints().chain(summaries).find(is_unknown) {
            None => Ok(()),
            Some(endpoint) => Err(UnknownPrice {
                provider: endpoint.provider.clone(),
                model: endpoint.model.clone(),
            }),
        }
    }

    /// Creates a placeholder, for while a snapshot is read, until the host's configuration replaces it.
    pub(in crate::run) fn absent() -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self::new(Endpoint {
            provider: String::new(),
            dialect: Dialect::AgUi,
            base_url: String::new(),
            model: String::new(),
            key: None,
            headers: Vec::new(),
            key_header: None,
            quirks: Quirks::default(),
        }))
    }
}

/// The limits of a turn; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The maximum number of tool rounds in a turn.
    pub max_tool_rounds: u32,
    /// Whether the model continues with the results of its tools; true by default. Otherwise a turn that calls tools ends as
    /// [`Outcome::Success`](crate::run::Outcome::Success) after its first round, with the results in the history, and the
    /// next turn sends them.
    pub continue_after_tools: bool,
    /// The maximum number of tools that run in parallel. Further calls wait in order until one ends or is deferred; this wait
    /// does not count as the tool's time. 0 counts as 1.
    pub max_parallel_tools: u32,
    /// The maximum number of tool calls in a turn. A round that would exceed it does not begin.
    pub max_tool_calls: Option<u32>,
    /// The maximum number of tokens of a turn, by the provider's count. Once they are used up, no further round begins.
    pub max_tokens: Option<u64>,
    /// The maximum cost of a turn, in US dollars. Once it is reached, no further round begins; the last round may have
    /// exceeded it. Only answers of known [cost](crate::event::TokenUsage::cost) count: [`RunConfig::check_price`] checks that
    /// the cost will be known.
    pub max_cost: Option<Usd>,
    /// The time after which a turn begins no further round of tools; whatever runs is not stopped. Waiting for the user does
    /// not count. [`Timeouts::turn`] is the hard limit.
    pub max_duration: Option<Duration>,
    /// The limits for a model that repeats the same call; `None` is no limit.
    pub repeats: Option<RepeatLimit>,
    /// The policy for a model that calls tools beyond one of these limits. A model that makes no progress is stopped in any
    /// case.
    pub at_limit: LimitPolicy,
    /// The limits of one answer. An answer that exceeds them is stopped at once and the run fails, regardless of `at_limit`,
    /// since the answer is incomplete. The received part is kept.
    pub answer: AnswerLimits,
    /// The maximum length of the lines and events of a stream, in bytes.
    pub frames: FrameLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_tool_rounds: 10,
            continue_after_tools: true,
            max_parallel_tools: 8,
            max_tool_calls: None,
            max_tokens: None,
            max_cost: None,
            max_duration: None,
            repeats: Some(RepeatLimit::default()),
            at_limit: LimitPolicy::default(),
            answer: AnswerLimits::default(),
            frames: FrameLimits::default(),
        }
    }
}

/// The limits for calls of the same tool with the same arguments.
///
/// A call counts as repeated if it follows itself, or if its result is the same as the time before: reading a file again
/// after a change is no repetition. A [`repeatable`](crate::tool::Tool::repeatable) tool never counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatLimit {
    /// The number of times that the call runs. A further call does not run, and the model gets a result that says so.
    pub tell_after: u32,
    /// The number of times that the model may ask for the call. After that the turn stops with
    /// [`TurnLimit::NoProgress`](crate::run::TurnLimit).
    pub stop_after: u32,
}

impl Default for RepeatLimit {
    fn default() -> Self {
        Self {
            tell_after: 3,
            stop_after: 5,
        }
    }
}

/// The policy for a model that calls tools beyond a limit of the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum LimitPolicy {
    /// The run fails.
    Fail,
    /// The run completes as [`Outcome::LimitReached`](crate::run::Outcome::LimitReached).
    #[default]
    Complete,
    /// The model gets one last hop without tools, to sum up.
    SumUp,
}

/// The timeouts of a run; `None` is no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Timeouts {
    /// The longest silence of the model, since the request or its last bytes.
    pub silence: Option<Duration>,
    /// The time for a tool without a timeout of its own, for the host's decoder of a typed answer, and for each hook.
    pub tool: Option<Duration>,
    /// The time for a complete turn. Waiting for the user, or for a deferred result alone, does not count.
    pub turn: Option<Duration>,
    /// The time for the user to approve a call, or to answer a tool's question. When it is over, the call does not run
    /// and the model is informed; a tool is informed that the user did not answer.
    pub approval: Option<Duration>,
    /// The time for the result of a deferred call.
    pub deferred: Option<Duration>,
    /// The time for the host to supply the [credentials](Credentials::Host) of a request. After that the turn fails.
    pub credentials: Option<Duration>,
    /// The time that the stream of a finished answer may stay open. An answer is finished when the model has given its stop
    /// reason. Later events (the cost, for example) restart the time, up to the end that the format defines (`[DONE]`,
    /// `message_stop`, `RUN_FINISHED`, …). After that time the stream is closed, and the turn continues.
    pub closing: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            silence: Some(Duration::from_secs(120)),
            tool: Some(Duration::from_secs(300)),
            turn: None,
            approval: None,
            deferred: None,
            credentials: Some(Duration::from_secs(60)),
            closing: Some(Duration::from_secs(2)),
        }
    }
}

/// The source of the hops' run ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum RunIds {
    /// The core derives them from the turn's id: `turn`, `turn.1`, `turn.2`, …
    #[default]
    Derived,
    /// The backend makes them: the host is asked to create each run first ([`Effect::CreateRun`](crate::run::Effect::CreateRun)).
    Host,
}

/// Whether the host stores blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Durability {
    /// Nothing is stored, and nothing waits for a write.
    #[default]
    None,
    /// Each finished block is stored, and whatever depends on the block waits for that.
    Blocks {
        /// The number of attempts for a write, the first included, before the run fails.
        attempts: u32,
    },
}
