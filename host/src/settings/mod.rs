//! What is set: by flags, by environment variables, by a file, or by default, in that order.
//!
//! [`Settings`] names every setting once: its field is the key in the file, `STEPWELL_` before it in capitals is the
//! variable, and `--` before it, with dashes, the flag.

mod flags;
mod hidden;
mod layer;
mod mistyped;
mod read;

pub(crate) use flags::{
    EVERYWHERE, EngineFlags, GlobalFlags, LimitFlags, ModelFlags, SESSIONS, ServeFlags, StoreFlags,
    TOOLS, ToolFlags,
};
pub(crate) use layer::{Origin, flags, variables};
pub(crate) use mistyped::nearest;
pub(crate) use read::{InForce, Sources};

use crate::logging::LogFormat;
use crate::serve::Record;
use clap::ValueEnum;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;
use stepwell_core::Usd;
use stepwell_core::dialect::Secret;
use stepwell_core::pipeline::AnswerLimits;
use stepwell_core::run::{LimitPolicy, Limits};

/// All that can be set. Its serde form is that of the file, but for secrets, which are never written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// The provider to ask.
    pub(crate) provider: Option<String>,
    /// Which of its APIs.
    pub(crate) api: Option<String>,
    /// The model, as the provider names it.
    pub(crate) model: Option<String>,
    /// The address of the API, if not the provider's own.
    pub(crate) base_url: Option<String>,
    /// What the model is told before all else.
    pub(crate) instructions: Option<String>,
    /// A file with providers of the user's own.
    pub(crate) providers: Option<PathBuf>,

    /// The most rounds of tools in one turn.
    pub(crate) max_tool_rounds: u32,
    /// Whether the model goes on with the results of its tools.
    pub(crate) enable_tool_continuation: bool,
    /// The most tools at once.
    pub(crate) max_parallel_tools: u32,
    /// The most tool calls in one turn.
    pub(crate) max_tool_calls: Option<u32>,
    /// The most tokens in one turn.
    pub(crate) max_tokens: Option<u64>,
    /// What one turn may cost, in US dollars.
    pub(crate) max_cost: Option<Usd>,
    /// The longest that a turn may take and still begin tools, in seconds.
    pub(crate) max_duration: Option<u64>,
    /// The most bytes of one answer.
    pub(crate) max_answer_bytes: u64,
    /// The most calls that one answer may leave without a result.
    pub(crate) max_answer_calls: u32,
    /// What happens at a limit.
    #[serde(with = "by_name")]
    pub(crate) at_limit: AtLimit,

    /// MCP servers: commands and addresses.
    pub(crate) mcp: Vec<String>,
    /// Files with MCP servers.
    pub(crate) mcp_config: Vec<PathBuf>,
    /// Tools that need the user's approval.
    pub(crate) ask_before: Vec<String>,

    /// Where sessions are kept.
    pub(crate) store: Option<String>,
    /// What people call this host among those on the store.
    pub(crate) owner: String,
    /// What decides where turns run.
    #[serde(with = "by_name")]
    pub(crate) engine: EngineName,
    /// Where turns are sent to Restate.
    pub(crate) restate: Option<String>,
    /// Where Restate is told of this host.
    pub(crate) restate_admin: Option<String>,
    /// The address to listen on for Restate.
    pub(crate) restate_listen: SocketAddr,
    /// Where Restate reaches this host.
    pub(crate) restate_url: Option<String>,
    /// The public key of what Restate signs its calls with.
    pub(crate) restate_identity: Option<String>,
    /// The address to listen on.
    pub(crate) listen: SocketAddr,
    /// The token that requests must bear.
    #[serde(with = "secret_text")]
    pub(crate) token: Option<Secret>,
    /// A file with the tokens of several users.
    pub(crate) tokens: Option<PathBuf>,
    /// Whose JSON Web Tokens are taken.
    pub(crate) jwt_issuer: Option<String>,
    /// For whom they must be.
    pub(crate) jwt_audience: Option<String>,
    /// Where their issuer's keys are: a file, or an address.
    pub(crate) jwt_keys: Option<String>,
    /// The web origins that may use the server.
    pub(crate) allow_origin: Vec<String>,
    /// The names by which the server may be reached without a token.
    pub(crate) allow_host: Vec<String>,
    /// Whether the server may be reached from other machines without a token.
    pub(crate) insecure: bool,
    /// Whether clients may give the model instructions.
    pub(crate) trust_clients: bool,
    /// The longest request body, in bytes.
    pub(crate) max_body: usize,
    /// The most runs at once.
    pub(crate) max_runs: usize,
    /// The most runs at once of one user.
    pub(crate) user_runs: Option<NonZeroUsize>,
    /// The most threads of one user.
    pub(crate) user_threads: Option<NonZeroUsize>,
    /// The most turns of one user that wait for them.
    pub(crate) user_waiting: NonZeroUsize,
    /// The most requests a minute of one user.
    pub(crate) user_requests: Option<NonZeroU32>,
    /// The most open streams of one user.
    pub(crate) user_streams: Option<NonZeroUsize>,
    /// The most connections at once.
    pub(crate) max_connections: NonZeroUsize,
    /// How long the headers of a new connection's request may take to come, in seconds.
    pub(crate) header_timeout: NonZeroU64,
    /// How long a connection may stay open without a request, in seconds.
    pub(crate) idle_timeout: NonZeroU64,
    /// How long a run may take, in seconds.
    pub(crate) run_timeout: u64,
    /// How long a question to the user stands, in seconds.
    pub(crate) interrupt_timeout: u64,
    /// How long a run goes on that nobody reads, in seconds.
    pub(crate) resume_timeout: u64,
    /// How long the events of a turn that is over are kept, in hours; for ever if absent.
    pub(crate) keep_events: Option<NonZeroU64>,
    /// How long a turn waits for a store that is full or out of reach, in seconds.
    pub(crate) store_timeout: u64,
    /// How long a stream may be silent before a comment is sent, in seconds.
    pub(crate) keep_alive: NonZeroU64,
    /// The models that a turn may ask for, beside the one that is set.
    pub(crate) offer: Vec<String>,
    /// Whether the journals of turns are kept for those who may read them.
    #[serde(with = "by_name")]
    pub(crate) record: Record,
    /// How long runs may go on once the server is told to stop, in seconds.
    pub(crate) grace: u64,

    /// What is logged, as `tracing-subscriber` reads it.
    pub(crate) log: Option<String>,
    /// How the log is written.
    #[serde(with = "by_name")]
    pub(crate) log_format: LogFormat,
}

impl Default for Settings {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            provider: None,
            api: None,
            model: None,
            base_url: None,
            instructions: None,
            providers: None,
            max_tool_rounds: limits.max_tool_rounds,
            enable_tool_continuation: limits.continue_after_tools,
            max_parallel_tools: limits.max_parallel_tools,
            max_tool_calls: limits.max_tool_calls,
            max_tokens: limits.max_tokens,
            max_cost: limits.max_cost,
            max_duration: None,
            max_answer_bytes: limits.answer.bytes,
            max_answer_calls: limits.answer.calls,
            at_limit: AtLimit::Complete,
            mcp: Vec::new(),
            mcp_config: Vec::new(),
            ask_before: Vec::new(),
            store: None,
            owner: "stepwell".to_owned(),
            engine: EngineName::Local,
            restate: None,
            restate_admin: None,
            restate_listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 9080)),
            restate_url: None,
            restate_identity: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8000)),
            token: None,
            tokens: None,
            jwt_issuer: None,
            jwt_audience: None,
            jwt_keys: None,
            allow_origin: Vec::new(),
            allow_host: Vec::new(),
            insecure: false,
            trust_clients: false,
            max_body: 16 << 20,
            max_runs: 1000,
            user_runs: None,
            user_threads: None,
            user_waiting: NonZeroUsize::MIN.saturating_add(999),
            user_requests: None,
            user_streams: None,
            max_connections: NonZeroUsize::MIN.saturating_add(4095),
            header_timeout: NonZeroU64::MIN.saturating_add(9),
            idle_timeout: NonZeroU64::MIN.saturating_add(74),
            run_timeout: 600,
            interrupt_timeout: 3600,
            resume_timeout: 30,
            keep_events: None,
            store_timeout: 60,
            keep_alive: NonZeroU64::MIN.saturating_add(14),
            offer: Vec::new(),
            record: Record::Off,
            grace: 10,
            log: None,
            log_format: LogFormat::Text,
        }
    }
}

impl Settings {
    /// Puts the limits of a turn in place.
    pub(crate) fn limit(&self, limits: &mut Limits) {
        limits.max_tool_rounds = self.max_tool_rounds;
        limits.continue_after_tools = self.enable_tool_continuation;
        limits.max_parallel_tools = self.max_parallel_tools;
        limits.max_tool_calls = self.max_tool_calls;
        limits.max_tokens = self.max_tokens;
        limits.max_cost = self.max_cost;
        limits.max_duration = self.max_duration.map(Duration::from_secs);
        limits.answer = AnswerLimits {
            bytes: self.max_answer_bytes,
            calls: self.max_answer_calls,
        };
        limits.at_limit = match self.at_limit {
            AtLimit::Fail => LimitPolicy::Fail,
            AtLimit::Complete => LimitPolicy::Complete,
            AtLimit::SumUp => LimitPolicy::SumUp,
        };
    }
}

/// What happens when the model asks for tools beyond a limit of the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AtLimit {
    /// The turn fails.
    Fail,
    /// The turn ends with the limit's name as its reason.
    Complete,
    /// The model answers once more, without tools.
    SumUp,
}

/// What decides on which host a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// Where it began; when that host is gone, another one of the store takes it.
    Local,
    /// Restate says which: for many hosts on one PostgreSQL.
    Restate,
}

/// A value of a list, by the name that its flag takes.
mod by_name {
    use super::{Deserialize, Deserializer, Serializer, ValueEnum};
    use serde::de::Error;

    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: ValueEnum,
        D: Deserializer<'de>,
    {
        let name = String::deserialize(deserializer)?;
        T::from_str(&name, false).map_err(|_| {
            let names = T::value_variants().iter().filter_map(T::to_possible_value);
            let names: Vec<_> = names.map(|value| value.get_name().to_owned()).collect();
            D::Error::custom(format!("`{name}` is none of: {}", names.join(", ")))
        })
    }

    pub(super) fn serialize<T: ValueEnum, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let name = value.to_possible_value();
        serializer.serialize_str(name.as_ref().map_or("", |name| name.get_name()))
    }
}

/// A text that no message and no listing repeats.
mod secret_text {
    use super::{Deserialize, Deserializer, Secret, Serializer, Value};
    use serde::de::Error;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Secret>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::String(text) if text.trim().is_empty() => Err(D::Error::custom(
                "the token is empty: leave it out, or give one",
            )),
            Value::String(text) => Ok(Some(text.into())),
            _ => Err(D::Error::custom("a token is a text in quotes")),
        }
    }

    pub(super) fn serialize<S: Serializer>(
        secret: &Option<Secret>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match secret {
            Some(_) => serializer.serialize_some("***"),
            None => serializer.serialize_none(),
        }
    }
}
