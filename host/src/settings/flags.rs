//! The settings that are flags of commands. What is not given is left to the other places.

use super::{AtLimit, EngineName};
use crate::logging::LogFormat;
use crate::serve::Record;
use clap::{Args, ValueEnum};
use serde::{Serialize, Serializer};
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use stepwell_core::Usd;

/// Where help has what every command takes.
pub(crate) const EVERYWHERE: &str = "Every command";

/// Where help has the flags of sessions.
pub(crate) const SESSIONS: &str = "Sessions";

/// Where help has the flags of tools.
pub(crate) const TOOLS: &str = "Tools";

const MANY_MACHINES: &str = "Many machines";

const ACCESS: &str = "Access to the server";

const BOUNDS: &str = "Limits of the server";

/// Flags that every command has.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = EVERYWHERE)]
pub(crate) struct GlobalFlags {
    /// How the log is written; STEPWELL_LOG says what of it [default: text].
    #[arg(long, global = true, value_enum)]
    #[serde(serialize_with = "by_name")]
    log_format: Option<LogFormat>,
    /// A file with providers of your own: JSON, or TOML if it ends so [env: STEPWELL_PROVIDERS].
    #[arg(long, global = true, value_name = "FILE")]
    providers: Option<PathBuf>,
}

/// Who answers.
#[derive(Args, Debug, Serialize)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelFlags {
    /// The provider to ask; `stepwell providers` lists them.
    #[arg(long)]
    provider: Option<String>,
    /// Which of its APIs, if not its default one.
    #[arg(long)]
    api: Option<String>,
    /// The address of the API, if not the provider's own: `http://localhost:8000/v1`.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The model, as the provider names it.
    #[arg(long)]
    model: Option<String>,
    /// What the model is told before all else.
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
}

/// How far a turn may go.
#[derive(Args, Debug, Serialize)]
#[command(next_help_heading = "Limits of a turn")]
pub(crate) struct LimitFlags {
    /// The most rounds of tools in one turn [default: 10].
    #[arg(long, value_name = "N")]
    max_tool_rounds: Option<u32>,
    /// Whether the model goes on with the results of its tools; if not, a turn ends after its first round [default:
    /// true].
    #[arg(long, value_name = "BOOL")]
    enable_tool_continuation: Option<bool>,
    /// The most tools that run side by side [default: 8].
    #[arg(long, value_name = "N")]
    max_parallel_tools: Option<u32>,
    /// The most tool calls in one turn [default: no limit].
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<u32>,
    /// The most tokens in one turn, as the provider counts them [default: no limit].
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// What one turn may cost, in US dollars: when it has cost that, no further round of tools is begun [default: no
    /// limit].
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<Usd>,
    /// The longest that a turn may take and still begin tools, in seconds [default: no limit].
    #[arg(long, value_name = "SECONDS")]
    max_duration: Option<u64>,
    /// The most bytes of one answer; one that goes beyond is stopped, and its turn fails [default: 33554432].
    #[arg(long, value_name = "BYTES")]
    max_answer_bytes: Option<u64>,
    /// The most tool calls of one answer, in the same way [default: 1000].
    #[arg(long, value_name = "N")]
    max_answer_calls: Option<u32>,
    /// What happens when the model asks for tools beyond a limit [default: complete].
    #[arg(long, value_enum)]
    #[serde(serialize_with = "by_name")]
    at_limit: Option<AtLimit>,
}

/// Where sessions are kept.
#[derive(Args, Debug, Serialize)]
#[command(next_help_heading = SESSIONS)]
pub(crate) struct StoreFlags {
    /// Where sessions are kept: `memory`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`. Without one `chat` keeps
    /// none, and `serve` keeps them in memory.
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// What people call this host, of several on one store: its log and its refusals say it. Turns do not depend on it
    /// [default: stepwell].
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
}

/// What decides where turns run.
#[derive(Args, Debug, Serialize)]
#[command(next_help_heading = MANY_MACHINES)]
pub(crate) struct EngineFlags {
    /// What decides on which host a turn runs: `local`, where it began, or `restate` [default: local].
    #[arg(long, value_enum)]
    #[serde(serialize_with = "by_name")]
    engine: Option<EngineName>,
    /// Restate's ingress, where turns are sent: http://127.0.0.1:8080.
    #[arg(long, value_name = "URL")]
    restate: Option<String>,
    /// Restate's admin API, where this host is made known [default: port 9070 beside the ingress].
    #[arg(long, value_name = "URL")]
    restate_admin: Option<String>,
    /// The address to listen on for Restate [default: 127.0.0.1:9080].
    #[arg(long, value_name = "ADDRESS")]
    restate_listen: Option<SocketAddr>,
    /// Where Restate reaches the hosts: what spreads its calls over them [default: the address to listen on].
    #[arg(long, value_name = "URL")]
    restate_url: Option<String>,
    /// The public key of what Restate signs its calls with: others are refused.
    #[arg(long, value_name = "KEY")]
    restate_identity: Option<String>,
}

/// Which tools may run.
#[derive(Args, Debug, Serialize)]
#[command(next_help_heading = TOOLS)]
pub(crate) struct ToolFlags {
    /// A tool that may only run when the user has allowed it; may be repeated.
    #[arg(long, value_name = "TOOL")]
    ask_before: Vec<String>,
}

/// How the server behaves.
#[derive(Args, Debug, Serialize)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServeFlags {
    /// The address to listen on; port 0 is any free one [default: 127.0.0.1:8000].
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The token that requests must bear [env: STEPWELL_SERVE_TOKEN].
    #[arg(long, help_heading = ACCESS)]
    token: Option<String>,
    /// A file with the tokens of several users, whose threads are then each their own: lines that `stepwell token NAME`
    /// makes.
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    tokens: Option<PathBuf>,
    /// The issuer whose JSON Web Tokens are taken, as their claim `iss` has it; their subjects are the users.
    #[arg(long, value_name = "ISSUER", help_heading = ACCESS)]
    jwt_issuer: Option<String>,
    /// For whom those tokens must be: their claim `aud`. Without it one that is for anybody in particular is refused.
    #[arg(long, value_name = "AUDIENCE", help_heading = ACCESS)]
    jwt_audience: Option<String>,
    /// Where that issuer's keys are: a file, or a URL with https://, of a JSON Web Key Set.
    #[arg(long, value_name = "FILE|URL", help_heading = ACCESS)]
    jwt_keys: Option<String>,
    /// A web origin that may use the server, such as http://localhost:3000, or `*` for any; may be repeated.
    #[arg(long, value_name = "ORIGIN", help_heading = ACCESS)]
    allow_origin: Vec<String>,
    /// A name by which the server may be reached without a token, besides its addresses and localhost; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = ACCESS)]
    allow_host: Vec<String>,
    /// Listens beyond this machine without a token: whoever reaches the server may use the model and read all sessions.
    #[arg(long, help_heading = ACCESS)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    insecure: bool,
    /// Lets clients give the model instructions: their system and developer messages, their context and state go to it as the
    /// server's own instructions do. It is for clients that are back ends of yours, and not for browsers.
    #[arg(long, help_heading = ACCESS)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    trust_clients: bool,
    /// The longest request body, in bytes [default: 16777216].
    #[arg(long, value_name = "BYTES", help_heading = BOUNDS)]
    max_body: Option<usize>,
    /// The most runs at once, without turns that wait for their user [default: 1000].
    #[arg(long, value_name = "N", help_heading = BOUNDS)]
    max_runs: Option<usize>,
    /// The most runs at once of one user [default: no limit].
    #[arg(long, value_name = "N", help_heading = BOUNDS)]
    user_runs: Option<NonZeroUsize>,
    /// The most threads of one user [default: no limit].
    #[arg(long, value_name = "N", help_heading = BOUNDS)]
    user_threads: Option<NonZeroUsize>,
    /// The most turns of one user that wait for an answer [default: 1000].
    #[arg(long, value_name = "N", help_heading = BOUNDS)]
    user_waiting: Option<NonZeroUsize>,
    /// The most requests a minute of one user [default: no limit].
    #[arg(long, value_name = "N", help_heading = BOUNDS)]
    user_requests: Option<NonZeroU32>,
    /// The most open streams of one user [default: a quarter of the connections with several users, else no limit].
    #[arg(long, value_name = "N", help_heading = BOUNDS)]
    user_streams: Option<NonZeroUsize>,
    /// The most connections at once; at that many, one that waits for a request makes room for a new one [default:
    /// 4096].
    #[arg(long, value_name = "N", help_heading = BOUNDS)]
    max_connections: Option<NonZeroUsize>,
    /// How long the headers of a new connection's request may take to come, in seconds [default: 10].
    #[arg(long, value_name = "SECONDS", help_heading = BOUNDS)]
    header_timeout: Option<NonZeroU64>,
    /// How long a connection may stay open between two requests, in seconds [default: 75].
    #[arg(long, value_name = "SECONDS", help_heading = BOUNDS)]
    idle_timeout: Option<NonZeroU64>,
    /// How long a run may take, in seconds [default: 600].
    #[arg(long, value_name = "SECONDS", help_heading = BOUNDS)]
    run_timeout: Option<u64>,
    /// How long a question to the user stands, in seconds [default: 3600].
    #[arg(long, value_name = "SECONDS", help_heading = BOUNDS)]
    interrupt_timeout: Option<u64>,
    /// How long a run goes on that nobody reads, so that its client may come back, in seconds [default: 30].
    #[arg(long, value_name = "SECONDS", help_heading = BOUNDS)]
    resume_timeout: Option<u64>,
    /// How long the events of a turn that is over are kept, in hours: whoever follows it later is shown how it stands, and what
    /// was said stays [default: for ever].
    #[arg(long, value_name = "HOURS", help_heading = BOUNDS)]
    keep_events: Option<NonZeroU64>,
    /// How long a turn waits for a store that is full, can only be read, or cannot be reached, before it fails, in
    /// seconds; 0 waits not at all [default: 60].
    #[arg(long, value_name = "SECONDS", help_heading = BOUNDS)]
    store_timeout: Option<u64>,
    /// How long a stream may be silent before a comment is sent, in seconds [default: 15].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), help_heading = BOUNDS)]
    keep_alive: Option<u64>,
    /// Another model that a turn may ask for, as PROVIDER/MODEL: the page lets its users choose; may be repeated.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    offer: Vec<String>,
    /// Keeps the journals of the latest turns in memory, for the page's inspector: whoever may read a thread may read
    /// its journals, with the instructions and the requests, but no key [default: off; full with the scripted model].
    #[arg(long, value_enum)]
    #[serde(serialize_with = "by_name")]
    record: Option<Record>,
    /// How long runs may go on once the server is told to stop, in seconds [default: 10].
    #[arg(long, value_name = "SECONDS", help_heading = BOUNDS)]
    grace: Option<u64>,
}

fn by_name<T: ValueEnum, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let name = value.as_ref().and_then(ValueEnum::to_possible_value);
    match name {
        Some(name) => serializer.serialize_some(name.get_name()),
        None => serializer.serialize_none(),
    }
}
