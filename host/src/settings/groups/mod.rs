//! The settings, in the groups that the commands take.

mod compaction;
mod server;

pub(crate) use compaction::{CompactionName, CompactionSettings};
pub(crate) use server::{Record, ServerSettings};

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use stepwell_core::Usd;
use stepwell_core::pipeline::AnswerLimits;
use stepwell_core::run::{LimitPolicy, Limits};

/// The help heading of the flags that every command takes.
const EVERYWHERE: &str = "Every command";

/// The help heading of the flags about sessions.
pub(crate) const SESSIONS: &str = "Sessions";

/// The settings of every command.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = EVERYWHERE)]
pub(crate) struct GlobalSettings {
    /// A file with settings, instead of your own one; `stepwell config` shows which [env: STEPWELL_CONFIG].
    #[arg(long = "config", id = Self::FILE, global = true, value_name = "FILE")]
    #[serde(skip)]
    _file: Option<PathBuf>,
    /// A file with your own providers: TOML if its name ends in .toml, else JSON.
    #[arg(long, env = "STEPWELL_PROVIDERS", global = true, value_name = "FILE")]
    pub(crate) providers: Option<PathBuf>,
    /// What is logged, such as `info` or `stepwell=debug` [default: `warn` for `serve`, else nothing].
    #[arg(long, env = "STEPWELL_LOG", global = true, value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// The format of the log.
    #[arg(
        long,
        env = "STEPWELL_LOG_FORMAT",
        global = true,
        value_enum,
        default_value = "text"
    )]
    pub(crate) log_format: LogFormat,
}

impl GlobalSettings {
    /// The id of the flag that names the settings file. It is read before the settings are.
    pub(super) const FILE: &str = "config";
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// All settings of commands.
#[derive(Args, Debug, Serialize)]
pub(crate) struct AllSettings {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) model: ModelSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) compaction: CompactionSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) limits: LimitSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) tools: ToolSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) store: StoreSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) engine: EngineSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) server: ServerSettings,
}

/// The model that answers.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelSettings {
    /// The provider to ask; `stepwell providers` lists them.
    #[arg(long, env = "STEPWELL_PROVIDER")]
    pub(crate) provider: Option<String>,
    /// The provider's API to use, if not its default one.
    #[arg(long, env = "STEPWELL_API")]
    pub(crate) api: Option<String>,
    /// The address of the API, if not the provider's own: `http://localhost:8000/v1`.
    #[arg(long, env = "STEPWELL_BASE_URL", value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The model, as the provider names it.
    #[arg(long, env = "STEPWELL_MODEL")]
    pub(crate) model: Option<String>,
    /// A model that is asked when the one before has failed, as PROVIDER/MODEL; may be repeated.
    #[arg(long, env = "STEPWELL_FALLBACK", value_name = "PROVIDER/MODEL")]
    pub(crate) fallback: Vec<String>,
    /// Whether the provider makes the answers in the background, and keeps them for a while: an answer then survives a
    /// broken connection and a restart.
    #[arg(
        long,
        env = "STEPWELL_BACKGROUND",
        value_name = "BOOL",
        action = ArgAction::Set,
        value_parser = BoolishValueParser::new(),
        num_args = 0..=1,
        default_value_t = false,
        default_missing_value = "true",
    )]
    pub(crate) background: bool,
    /// The instructions that the model is given before the conversation.
    #[arg(long, env = "STEPWELL_INSTRUCTIONS", value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
}

/// The limits of a turn.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Limits of a turn")]
pub(crate) struct LimitSettings {
    /// The maximum number of tool rounds in one turn.
    #[arg(long, env = "STEPWELL_MAX_TOOL_ROUNDS", value_name = "N", default_value_t = Limits::default().max_tool_rounds)]
    max_tool_rounds: u32,
    /// Whether the model continues with the results of its tools; if not, a turn ends after its first round.
    #[arg(
        long,
        env = "STEPWELL_ENABLE_TOOL_CONTINUATION",
        value_name = "BOOL",
        action = ArgAction::Set,
        value_parser = BoolishValueParser::new(),
        default_value_t = Limits::default().continue_after_tools,
    )]
    enable_tool_continuation: bool,
    /// The maximum number of tools that run in parallel.
    #[arg(long, env = "STEPWELL_MAX_PARALLEL_TOOLS", value_name = "N", default_value_t = Limits::default().max_parallel_tools)]
    max_parallel_tools: u32,
    /// The maximum number of tool calls in one turn [default: no limit].
    #[arg(long, env = "STEPWELL_MAX_TOOL_CALLS", value_name = "N")]
    max_tool_calls: Option<u32>,
    /// The maximum number of tokens in one turn, as the provider counts them [default: no limit].
    #[arg(long, env = "STEPWELL_MAX_TOKENS", value_name = "N")]
    max_tokens: Option<u64>,
    /// The maximum cost of one turn in US dollars: a turn that has cost this much begins no further round of tools
    /// [default: no limit].
    #[arg(long, env = "STEPWELL_MAX_COST", value_name = "DOLLARS")]
    max_cost: Option<Usd>,
    /// The time after which a turn begins no more tools, in seconds [default: no limit].
    #[arg(long, env = "STEPWELL_MAX_DURATION", value_name = "SECONDS")]
    max_duration: Option<u64>,
    /// The maximum size of one answer in bytes; a larger answer is stopped, and its turn fails.
    #[arg(long, env = "STEPWELL_MAX_ANSWER_BYTES", value_name = "BYTES", default_value_t = Limits::default().answer.bytes)]
    max_answer_bytes: u64,
    /// The maximum number of tool calls in one answer; an answer with more is stopped, and its turn fails.
    #[arg(long, env = "STEPWELL_MAX_ANSWER_CALLS", value_name = "N", default_value_t = Limits::default().answer.calls)]
    max_answer_calls: u32,
    /// What happens when the model asks for tools beyond a limit.
    #[arg(
        long,
        env = "STEPWELL_AT_LIMIT",
        value_enum,
        default_value = "complete"
    )]
    at_limit: AtLimit,
}

impl LimitSettings {
    /// Copies the settings into the limits of a run.
    pub(crate) fn apply(&self, limits: &mut Limits) {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AtLimit {
    /// The turn fails.
    Fail,
    /// The turn ends with the limit's name as its reason.
    Complete,
    /// The model answers once more, without tools.
    SumUp,
}

/// The tools of the model.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolSettings {
    /// A tool that needs the user's approval before it runs; may be repeated.
    #[arg(long, env = "STEPWELL_ASK_BEFORE", value_name = "TOOL")]
    pub(crate) ask_before: Vec<String>,
    /// An MCP server whose tools the model has: the command that starts it, `npx -y some-server`, or the address of one
    /// that speaks streamable HTTP; may be repeated.
    #[arg(long, env = "STEPWELL_MCP", value_name = "COMMAND")]
    pub(crate) mcp: Vec<String>,
    /// A file with MCP servers, as other clients have it: `{"mcpServers": {"NAME": {"command": "npx", "args": […]}}}`;
    /// may be repeated.
    #[arg(long, env = "STEPWELL_MCP_CONFIG", value_name = "FILE")]
    pub(crate) mcp_config: Vec<PathBuf>,
}

/// The store of sessions.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = SESSIONS)]
pub(crate) struct StoreSettings {
    /// The store of sessions: `memory`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`. Without one `chat` keeps no
    /// sessions, and `serve` keeps them in memory.
    #[arg(long, env = "STEPWELL_STORE", value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// The name of this host in its log and its refusals, where several hosts share a store. Turns do not depend on it.
    #[arg(
        long,
        env = "STEPWELL_OWNER",
        value_name = "NAME",
        default_value = "stepwell"
    )]
    pub(crate) owner: String,
}

/// The engine that decides on which host a turn runs.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Many machines")]
pub(crate) struct EngineSettings {
    /// What decides on which host a turn runs.
    #[arg(long, env = "STEPWELL_ENGINE", value_enum, default_value = "local")]
    pub(crate) engine: EngineName,
    /// Restate's ingress, where turns are sent: http://127.0.0.1:8080.
    #[arg(long, env = "STEPWELL_RESTATE", value_name = "URL")]
    pub(crate) restate: Option<String>,
    /// Restate's admin API, where this host registers [default: port 9070 of the ingress].
    #[arg(long, env = "STEPWELL_RESTATE_ADMIN", value_name = "URL")]
    pub(crate) restate_admin: Option<String>,
    /// The address to listen on for Restate.
    #[arg(
        long,
        env = "STEPWELL_RESTATE_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:9080"
    )]
    pub(crate) restate_listen: SocketAddr,
    /// The URL at which Restate reaches the hosts, such as that of a load balancer [default: the address to listen on].
    #[arg(long, env = "STEPWELL_RESTATE_URL", value_name = "URL")]
    pub(crate) restate_url: Option<String>,
    /// The public key that verifies Restate's signatures: calls without a valid one are refused.
    #[arg(long, env = "STEPWELL_RESTATE_IDENTITY", value_name = "KEY")]
    pub(crate) restate_identity: Option<String>,
}

/// What decides on which host a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EngineName {
    /// The host where the turn began; when it is dead, another host on the same store takes the turn over.
    Local,
    /// Restate: for many hosts on one PostgreSQL.
    Restate,
}
