//! How far a search goes: what the run is configured to, and what may happen to it.

mod background;
mod large;
mod small;
mod tiny;

pub use background::large_in_background;
pub use large::large;
pub use tiny::tiny;

use crate::peer::Kind;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{AssistantMessage, Message};
use stepwell_core::provider;
use stepwell_core::run::model_check::Abstraction;
use stepwell_core::run::{
    BackgroundPolicy, CompactionPolicy, CompactionWay, Credentials, Durability, ErrorKind,
    FallbackModel, HookMoment, HookSpec, LimitPolicy, ModelChoice, NetworkChangePolicy,
    OfflinePolicy, RepeatLimit, Retry, RetryPolicy, RunConfig, RunIds,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool};
use stepwell_core::transcript::Transcript;

/// One corner of the space.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub name: &'static str,
    pub config: Arc<RunConfig>,
    /// The most calls of a hop.
    pub calls: u8,
    /// The kinds of calls that the model asks for.
    pub kinds: Vec<Kind>,
    /// Whether the model sends text before it calls, also cut in the middle of a frame.
    pub texts: bool,
    /// Whether the provider's filter stops answers.
    pub filters: bool,
    /// Whether the network and the peer fail: refusals, broken connections, errors and rubbish in the stream.
    pub failures: bool,
    /// The number of times that the host dies.
    pub crashes: u8,
    /// Whether a host that restarts may report what it had shown and not stored.
    pub shows: bool,
    /// The number of times that the agent asks the user.
    pub questions: u8,
    /// The number of times that the network is lost or changes, and that the app goes to the background.
    pub device: u8,
    /// The number of times that the user types during the turn.
    pub steers: u8,
    /// Whether there is a conversation before the turn, which is too long.
    pub history: bool,
    /// The answers that the provider makes in the background.
    pub background: Option<Background>,
    /// The other actions of the user and the tools.
    pub extras: Extras,
    pub abstraction: Abstraction,
}

/// How far the search goes where the provider makes its answers in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// The number of times that the network or the provider fails: a stream that breaks off or falls silent, a refusal, no
    /// connection.
    pub breaks: u8,
    /// The number of times that an answer that is read as a whole is not finished.
    pub unfinished: u8,
}

/// The actions of the user and the tools, besides the plain ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The user stops single calls.
    pub stops: bool,
    /// The user edits the arguments that they allow.
    pub edits: bool,
    /// Tools give their results later.
    pub deferrals: bool,
    /// Tools ask the user while they run.
    pub asks: bool,
}

impl Extras {
    pub const ALL: Self = Self {
        stops: true,
        edits: true,
        deferrals: true,
        asks: true,
    };
}

impl Bounds {
    pub fn new(
        name: &'static str,
        dialect: Dialect,
        change: impl FnOnce(&mut Self, &mut RunConfig),
    ) -> Self {
        let config = config(dialect);
        let mut bounds = Self {
            name,
            config: Arc::new(config.clone()),
            calls: 2,
            kinds: vec![Kind::Plain],
            texts: false,
            filters: false,
            failures: true,
            crashes: 0,
            shows: false,
            questions: 0,
            device: 0,
            steers: 0,
            history: false,
            background: None,
            extras: Extras::default(),
            abstraction: Abstraction::ALL,
        };
        let mut config = config;
        change(&mut bounds, &mut config);
        for tool in [
            Tool::new("work", "w"),
            Tool::new("look", "l").idempotent(),
            Tool::new("ask", "a").requires_approval(),
        ] {
            // Only those in use: a snapshot has a digest of them all.
            if bounds.kinds.iter().any(|kind| kind.tool() == tool.name()) {
                config.tools = config.tools.register(tool).expect("a good tool");
            }
        }
        bounds.config = Arc::new(config);
        bounds
    }

    /// The same corner, with this much left out of the canonical form.
    pub fn with(mut self, abstraction: Abstraction) -> Self {
        self.abstraction = abstraction;
        self
    }

    pub fn stores(&self) -> bool {
        self.config.durability != Durability::None
    }

    /// Returns how often an answer is asked for again of which a part was shown.
    pub fn retries_after_text(&self) -> u32 {
        let retry = &self.config.retry;
        let kinds = ErrorKind::ALL.iter();
        let kinds = kinds.filter(|kind| retry.retries_after_text(**kind));
        let attempts = kinds.map(|kind| retry.attempts_after(*kind) - 1);
        attempts.max().unwrap_or(0)
    }

    /// Returns the number of breaks and of unfinished answers, where answers are made in the background.
    pub fn interruptions(&self) -> Option<u32> {
        let background = self.background?;
        Some(u32::from(background.breaks) + u32::from(background.unfinished))
    }

    /// Returns the number of models.
    pub fn models(&self) -> u32 {
        u32::try_from(self.config.endpoints().count()).expect("a few")
    }

    /// Returns whether a model is asked for a summary of the conversation before a hop.
    pub fn summarizes(&self) -> bool {
        self.config.compaction.summary().is_some()
    }

    /// Returns the conversation before the turn.
    pub fn before(&self) -> Transcript {
        if !self.history {
            return Transcript::default();
        }
        let long = "x".repeat(400);
        Transcript::new(vec![
            Message::user("o1", long.clone()),
            Message::Assistant(AssistantMessage {
                id: "o2".into(),
                content: Some(long),
                ..AssistantMessage::default()
            }),
        ])
    }

    pub fn asks_for_keys(&self) -> bool {
        self.config.credentials == Credentials::Host
    }

    /// Returns whether a hook sees the tools' results.
    pub fn looks_at_results(&self) -> bool {
        let mut hooks = self.config.hooks.iter();
        hooks.any(|hook| hook.moments.contains(&HookMoment::AfterTool))
    }

    /// I9: the last hop that there may be.
    pub fn last_hop(&self) -> u32 {
        let limits = self.config.limits;
        let summing_up = u32::from(limits.at_limit == LimitPolicy::SumUp);
        let output = self.config.output.as_ref();
        let refused = output.map_or(0, OutputType::most_retries);
        // Each round of tools and the last answer may be asked for again.
        let again = self.config.retry.attempts_after(ErrorKind::OutputInvalid) - 1;
        let empty = again * (limits.max_tool_rounds + 1);
        limits.max_tool_rounds + summing_up + refused + empty
    }
}

fn config(dialect: Dialect) -> RunConfig {
    let (name, api) = match dialect {
        Dialect::AgUi => ("ag-ui", None),
        Dialect::OpenAiResponses => ("openai", Some("responses")),
        _ => ("openai-compatible", None),
    };
    let endpoint = provider::find(name)
        .expect("the table has it")
        .endpoint(api, "m", Some("http://localhost/v1"), Some("k".into()))
        .expect("nothing is missing");
    let mut config = RunConfig::new(endpoint);
    config.tells_moves = true;
    config.limits.max_tool_rounds = 1;
    config.limits.repeats = None;
    config.retry.jitter = 0.0;
    config.retry.attempts = 2;
    // An answer that is asked for again has a corner of its own.
    let row = Retry::after(ErrorKind::OutputInvalid).attempts(1);
    config.retry = config.retry.with(row);
    config.durability = Durability::Blocks { attempts: 2 };
    config.timeouts.turn = Some(Duration::from_secs(600));
    config.timeouts.approval = Some(Duration::from_secs(900));
    config.timeouts.deferred = Some(Duration::from_secs(9000));
    config
}

/// An answer that must be an object with a number.
fn typed(mode: OutputMode) -> OutputType {
    let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"]});
    let output = OutputType::new("Number", schema).expect("a type");
    output.mode(mode).retries(1).decoded_by_host(true)
}

/// The policy for retries of answers of which a part was shown.
fn after_text(retry: &RetryPolicy) -> RetryPolicy {
    let retry = RetryPolicy {
        attempts: 1,
        ..retry.clone()
    };
    [ErrorKind::Connection, ErrorKind::ServerError]
        .map(|kind| Retry::after(kind).attempts(2).after_text())
        .into_iter()
        .fold(retry, RetryPolicy::with)
}

/// Another model of the same provider.
fn other(config: &RunConfig) -> FallbackModel {
    let mut endpoint = config.endpoint.clone();
    "other".clone_into(&mut endpoint.model);
    endpoint.into()
}

/// All small corners.
pub fn small() -> Vec<Bounds> {
    let mut all = small::small();
    all.extend(background::background());
    all
}
