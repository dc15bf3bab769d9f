use super::context::ContextGuard;
use super::credentials::Credentials;
use super::device::DevicePolicy;
use super::hook::HookSpec;
use super::text_options::TextOptions;
use crate::Usd;
use crate::dialect::{Dialect, Endpoint, GenerationSettings, Quirks};
use crate::hash::fnv1a;
use crate::pipeline::AnswerLimits;
use crate::provider::UnknownPrice;
use crate::tool::{OutputType, ToolRegistry};
use crate::wire::FrameLimits;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// All that a run is to know before it starts. It is not part of a snapshot: the host gives it again at restore, so
/// keys never reach the store.
///
/// A [journal](crate::journal) begins with it, in a form without keys: a later field needs a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// Who answers.
    pub endpoint: Endpoint,
    /// The tools on offer.
    pub tools: ToolRegistry,
    /// The app's own instructions; sent first, and not part of the history.
    pub instructions: Option<String>,
    /// How the model is to answer.
    pub settings: GenerationSettings,
    /// How far a run may go.
    pub limits: Limits,
    /// When a failed request is tried again.
    pub retry: RetryPolicy,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// Who makes the ids of the hops' runs.
    pub run_ids: RunIds,
    /// Whether the host stores what is said.
    pub durability: Durability,
    /// Where the key and the headers of the requests come from.
    pub credentials: Credentials,
    /// What happens when the app is suspended or killed, or the network goes or changes.
    pub device: DevicePolicy,
    /// Whether tool calls' arguments are parsed while they stream, for
    /// [`RunEvent::PartialArguments`](crate::run::RunEvent::PartialArguments) and
    /// [`RunMachine::partial_arguments`](crate::run::RunMachine::partial_arguments). Off by default; it takes time and
    /// memory in proportion to the arguments.
    pub partial_arguments: bool,
    /// How the model's text is shown.
    pub text: TextOptions,
    /// What happens when the conversation fills the model's context window.
    // As journals have it.
    #[serde(rename = "context")]
    pub context_guard: ContextGuard,
    /// What the answer is to be, if it is to be more than text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputType>,
    /// The hooks that the host has, in the order in which they are asked. Their code is never stored: a run that comes back
    /// asks those of the configuration that it is given then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
    /// Whether each move from one state to another is told, as [`Output::Moved`](crate::run::Output::Moved): for tests and
    /// traces. Off by default, and then it costs nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_moves: bool,
}

impl RunConfig {
    /// The default configuration for an endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            tools: ToolRegistry::new(),
            instructions: None,
            settings: GenerationSettings::default(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
            timeouts: Timeouts::default(),
            run_ids: RunIds::default(),
            durability: Durability::default(),
            credentials: Credentials::default(),
            device: DevicePolicy::default(),
            partial_arguments: false,
            text: TextOptions::default(),
            context_guard: ContextGuard::default(),
            output: None,
            hooks: Vec::new(),
            tells_moves: false,
        }
    }

    /// Whether [`Limits::max_cost`] can be kept, if there is one: what the model costs is known, or its provider says what
    /// each answer cost. The hosts for tokio and the other languages refuse a configuration where it cannot; a run that is
    /// made without them warns as it begins.
    ///
    /// # Errors
    /// The model has no price.
    pub fn check_price(&self) -> Result<(), UnknownPrice> {
        let endpoint = &self.endpoint;
        let is_known = endpoint.tells_cost() || endpoint.quirks.price.is_some();
        if self.limits.max_cost.is_none() || is_known {
            return Ok(());
        }
        Err(UnknownPrice {
            provider: endpoint.provider.clone(),
            model: endpoint.model.clone(),
        })
    }

    /// Stands in while a snapshot is read, until the host's own is put in its place.
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

/// What happens when a model ends its answer without text, a tool call or media. Reasoning alone is no answer. Runs of
/// AG-UI agents are never taken for empty: they may do their work by state or events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum EmptyAnswerPolicy {
    /// The turn ends as [`Incomplete::Empty`](crate::run::Incomplete::Empty), which is no success.
    #[default]
    Fail,
    /// The turn is a success. For apps in which a tool is the answer.
    Accept,
    /// The model is asked once more in the turn, with a sentence that says so and that no history keeps. A second empty
    /// answer ends the turn as `Fail` does.
    AskAgain,
}

/// How far a run may go; `None` is without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The most rounds of tools in a turn.
    pub max_tool_rounds: u32,
    /// Whether the model goes on with the results of its tools: true if not set. If not, a turn that asks for tools ends
    /// as [`Outcome::Success`](crate::run::Outcome::Success) when its first round is done, with the results in the history;
    /// the next turn sends them.
    pub continue_after_tools: bool,
    /// The most tools that run side by side. Further calls wait, in their order, until one comes to its end or is
    /// deferred; that wait is not the tool's own time. 0 counts as 1.
    pub max_parallel_tools: u32,
    /// The most tool calls in a turn. A round that would go beyond is not begun.
    pub max_tool_calls: Option<u32>,
    /// The most tokens of a turn, as the provider counts them. When they are used up, no further round is begun.
    pub max_tokens: Option<u64>,
    /// What a turn may cost, in US dollars. When it has cost that, no further round is begun: the round that came before may
    /// have taken it beyond. Only answers whose [cost](crate::event::TokenUsage::cost) is known count:
    /// [`RunConfig::check_price`] says whether it will be.
    pub max_cost: Option<Usd>,
    /// The longest that a turn may take and still begin a round of tools; what runs is not broken off. Waiting for the
    /// user does not count. See [`Timeouts::turn`] for the hard end.
    pub max_duration: Option<Duration>,
    /// When a model that asks for the same again and again is told, and when it is stopped; `None` is never.
    pub repeats: Option<RepeatLimit>,
    /// What happens when the model asks for tools beyond one of these limits. A model that makes no progress is
    /// stopped in any case.
    pub at_limit: LimitPolicy,
    /// How much one answer may bring. One that goes beyond is stopped at once, and the run fails, whatever `at_limit`
    /// says: the answer is not whole. What was said so far is kept.
    pub answer: AnswerLimits,
    /// The longest lines and events of a stream, in bytes.
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

/// How often the model may ask for the same tool with the same arguments.
///
/// A call counts as the same again if it follows itself, or if it gave the same result as the time before: reading a
/// file again after it was changed is no circle. A [`repeatable`](crate::tool::Tool::repeatable) tool never counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatLimit {
    /// So often it is run. A further call is not: the model is told instead.
    pub tell_after: u32,
    /// So often it may be asked for. After that the turn stops, as [`TurnLimit::NoProgress`](crate::run::TurnLimit).
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

/// What happens when the model asks for tools beyond a limit of the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum LimitPolicy {
    /// The run fails.
    Fail,
    /// The run completes as [`Outcome::LimitReached`](crate::run::Outcome::LimitReached).
    #[default]
    Complete,
    /// The model gets one last hop without tools, to sum up.
    SumUp,
}

/// When a request is tried again that failed before it brought anything to show: refused with a status, or with an error
/// in the stream; without a connection, or with one that broke; and an answer with nothing in it. Where the backend can
/// resume a stream ([`Quirks::resumption`]), also one that broke later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct RetryPolicy {
    /// The most tries for one hop, the first included.
    pub attempts: u32,
    /// The pause after the first failure; it doubles with each further one.
    pub first_delay: Duration,
    /// The longest pause.
    pub max_delay: Duration,
    /// The longest `Retry-After` that is waited for; the run fails if the provider asks for more.
    pub max_retry_after: Duration,
    /// By how much a pause may be shorter or longer, as a part of it: 0.2 is a fifth.
    pub jitter: f64,
    /// Makes the jitter differ between hosts. Equal seeds give equal pauses.
    pub seed: u64,
    /// What happens when the model ends without text, a tool call or media.
    pub empty_answer: EmptyAnswerPolicy,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(8),
            max_retry_after: Duration::from_secs(120),
            jitter: 0.2,
            seed: 0,
            empty_answer: EmptyAnswerPolicy::default(),
        }
    }
}

impl RetryPolicy {
    /// The pause before try `attempt` (1 is the second try) of `hop`.
    pub(in crate::run) fn delay(&self, turn: &str, hop: u32, attempt: u32) -> Duration {
        let doubled = self
            .first_delay
            .saturating_mul(1 << attempt.saturating_sub(1).min(20));
        let pause = doubled.min(self.max_delay).as_secs_f64();
        let mut state =
            self.seed ^ fnv1a(turn.as_bytes()) ^ (u64::from(hop) << 32) ^ u64::from(attempt);
        // SplitMix64: one step is enough to spread the bits.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = f64::from(u32::try_from(state >> 32).unwrap_or(0)) / f64::from(u32::MAX);
        let factor = 1.0 + self.jitter.clamp(0.0, 1.0) * (2.0 * unit - 1.0);
        Duration::try_from_secs_f64(pause * factor).unwrap_or(self.max_delay)
    }
}

/// How long things may take; `None` is without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Timeouts {
    /// How long the model may be silent, from the request or from its last bytes on.
    pub silence: Option<Duration>,
    /// How long a tool may take, if it does not say so itself; the host's decoder of a typed answer; and each hook.
    pub tool: Option<Duration>,
    /// How long a whole turn may take. Waiting for the user, or for a deferred result alone, does not count.
    pub turn: Option<Duration>,
    /// How long the user may take to allow a call, or to answer a tool's question. Then the call is not run, and the model
    /// is told; the tool is told that the user did not answer.
    pub approval: Option<Duration>,
    /// How long the result of a deferred call may take.
    pub deferred: Option<Duration>,
    /// How long the host may take to give the [credentials](Credentials::Host) of a request. Then the turn fails.
    pub credentials: Option<Duration>,
    /// How long the stream of an answer that is over may stay open. An answer is over when the model has said why it
    /// stopped; its cost, say, may come after that, and each such event begins the time anew. After the format's own end
    /// (`[DONE]`, `message_stop`, `RUN_FINISHED`, …) the time is not begun anew. Then the stream is closed, and the turn
    /// goes on.
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

/// Who makes the ids of the hops' runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum RunIds {
    /// The core, from the turn's own: `turn`, `turn.1`, `turn.2`, …
    #[default]
    Derived,
    /// The backend: the host is asked to create each run first ([`Effect::CreateRun`](crate::run::Effect::CreateRun)).
    Host,
}

/// Whether the host stores what is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing is stored, nothing waits for it.
    #[default]
    None,
    /// Each finished block is stored, and what depends on it waits until it is.
    Blocks {
        /// How often a write that fails is tried, the first time included, before the run fails.
        attempts: u32,
    },
}
