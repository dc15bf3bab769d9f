use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use serde::{Serialize, Serializer};
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use stepwell_core::dialect::Secret;

const ACCESS: &str = "Access to the server";

const BOUNDS: &str = "Limits of the server";

/// The server.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerSettings {
    /// The address to listen on; port 0 is any free port.
    #[arg(
        long,
        env = "STEPWELL_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8000"
    )]
    pub(crate) listen: SocketAddr,
    /// The token that requests must bear.
    #[arg(long, env = "STEPWELL_SERVE_TOKEN", value_parser = secret, help_heading = ACCESS)]
    #[serde(serialize_with = "hide_secret")]
    pub(crate) token: Option<Secret>,
    /// A file with one token for each user, who sees only their own threads: lines from `stepwell token NAME`.
    #[arg(long, env = "STEPWELL_TOKENS", value_name = "FILE", value_parser = path, help_heading = ACCESS)]
    pub(crate) tokens: Option<PathBuf>,
    /// The issuer whose JSON Web Tokens are accepted, as in their claim `iss`; their subjects are the users.
    #[arg(long, env = "STEPWELL_JWT_ISSUER", value_name = "ISSUER", value_parser = text, help_heading = ACCESS)]
    pub(crate) jwt_issuer: Option<String>,
    /// The audience that those tokens must have in their claim `aud`. Without it, a token with an audience is refused.
    #[arg(long, env = "STEPWELL_JWT_AUDIENCE", value_name = "AUDIENCE", value_parser = text, help_heading = ACCESS)]
    pub(crate) jwt_audience: Option<String>,
    /// The JSON Web Key Set of that issuer: a file, or a URL with https://.
    #[arg(long, env = "STEPWELL_JWT_KEYS", value_name = "FILE|URL", value_parser = text, help_heading = ACCESS)]
    pub(crate) jwt_keys: Option<String>,
    /// A web origin that may use the server, such as http://localhost:3000, or `*` for any; may be repeated.
    #[arg(long, env = "STEPWELL_ALLOW_ORIGIN", value_name = "ORIGIN", help_heading = ACCESS)]
    pub(crate) allow_origin: Vec<String>,
    /// A host name at which the server may be reached without a token, besides its addresses and localhost; may be
    /// repeated.
    #[arg(long, env = "STEPWELL_ALLOW_HOST", value_name = "NAME", help_heading = ACCESS)]
    pub(crate) allow_host: Vec<String>,
    /// Listens beyond this machine without a token: any client that reaches the server may use the model and read all
    /// sessions.
    #[arg(long, env = "STEPWELL_INSECURE", value_parser = BoolishValueParser::new(), help_heading = ACCESS)]
    pub(crate) insecure: bool,
    /// Lets clients instruct the model: their system and developer messages, context and state reach it as the server's
    /// own instructions do. For clients that are your own back ends, not for browsers.
    #[arg(long, env = "STEPWELL_TRUST_CLIENTS", value_parser = BoolishValueParser::new(), help_heading = ACCESS)]
    pub(crate) trust_clients: bool,
    /// The maximum size of a request body in bytes.
    #[arg(long, env = "STEPWELL_MAX_BODY", value_name = "BYTES", default_value_t = 16 << 20, help_heading = BOUNDS)]
    pub(crate) max_body: usize,
    /// The maximum number of concurrent runs, not counting turns that wait for their user.
    #[arg(long, env = "STEPWELL_MAX_RUNS", value_name = "N", default_value_t = 1000, help_heading = BOUNDS)]
    pub(crate) max_runs: usize,
    /// The maximum number of concurrent runs of one user [default: no limit].
    #[arg(long, env = "STEPWELL_USER_RUNS", value_name = "N", help_heading = BOUNDS)]
    pub(crate) user_runs: Option<NonZeroUsize>,
    /// The maximum number of threads of one user [default: no limit].
    #[arg(long, env = "STEPWELL_USER_THREADS", value_name = "N", help_heading = BOUNDS)]
    pub(crate) user_threads: Option<NonZeroUsize>,
    /// The maximum number of turns of one user that wait for an answer.
    #[arg(long, env = "STEPWELL_USER_WAITING", value_name = "N", default_value = "1000", help_heading = BOUNDS)]
    pub(crate) user_waiting: NonZeroUsize,
    /// The maximum number of requests a minute of one user [default: no limit].
    #[arg(long, env = "STEPWELL_USER_REQUESTS", value_name = "N", help_heading = BOUNDS)]
    pub(crate) user_requests: Option<NonZeroU32>,
    /// The maximum number of open streams of one user [default: a quarter of the connections if there are several users,
    /// else no limit].
    #[arg(long, env = "STEPWELL_USER_STREAMS", value_name = "N", help_heading = BOUNDS)]
    pub(crate) user_streams: Option<NonZeroUsize>,
    /// The maximum number of connections; at that many, one that waits for a request is closed for a new one.
    #[arg(long, env = "STEPWELL_MAX_CONNECTIONS", value_name = "N", default_value = "4096", help_heading = BOUNDS)]
    pub(crate) max_connections: NonZeroUsize,
    /// How long the headers of the first request on a connection may take to arrive, in seconds.
    #[arg(long, env = "STEPWELL_HEADER_TIMEOUT", value_name = "SECONDS", default_value = "10", help_heading = BOUNDS)]
    pub(crate) header_timeout: NonZeroU64,
    /// How long a connection may stay open between two requests, in seconds.
    #[arg(long, env = "STEPWELL_IDLE_TIMEOUT", value_name = "SECONDS", default_value = "75", help_heading = BOUNDS)]
    pub(crate) idle_timeout: NonZeroU64,
    /// How long a run may take, in seconds.
    #[arg(long, env = "STEPWELL_RUN_TIMEOUT", value_name = "SECONDS", default_value_t = 600, help_heading = BOUNDS)]
    pub(crate) run_timeout: u64,
    /// How long a question to the user stays open, in seconds.
    #[arg(long, env = "STEPWELL_INTERRUPT_TIMEOUT", value_name = "SECONDS", default_value_t = 3600, help_heading = BOUNDS)]
    pub(crate) interrupt_timeout: u64,
    /// How long a run continues without a reader, so that its client may come back, in seconds.
    #[arg(long, env = "STEPWELL_RESUME_TIMEOUT", value_name = "SECONDS", default_value_t = 30, help_heading = BOUNDS)]
    pub(crate) resume_timeout: u64,
    /// How long the events of a finished turn are kept, in hours: a client that follows the turn later gets its final
    /// state, and its messages are kept [default: for ever].
    #[arg(long, env = "STEPWELL_KEEP_EVENTS", value_name = "HOURS", help_heading = BOUNDS)]
    pub(crate) keep_events: Option<NonZeroU64>,
    /// How long a turn waits for a store that is full, read-only or unreachable before it fails, in seconds; 0 does not
    /// wait.
    #[arg(long, env = "STEPWELL_STORE_TIMEOUT", value_name = "SECONDS", default_value_t = 60, help_heading = BOUNDS)]
    pub(crate) store_timeout: u64,
    /// How long a stream may be silent before a comment is sent, in seconds.
    #[arg(long, env = "STEPWELL_KEEP_ALIVE", value_name = "SECONDS", default_value = "15", help_heading = BOUNDS)]
    pub(crate) keep_alive: NonZeroU64,
    /// Another model that a turn may ask for, as PROVIDER/MODEL: the page lets its users choose; may be repeated.
    #[arg(long, env = "STEPWELL_OFFER", value_name = "PROVIDER/MODEL")]
    pub(crate) offer: Vec<String>,
    /// Keeps the journals of the latest turns in memory, for the page's inspector: a user who may read a thread may read
    /// its journals, with the instructions and the requests, but no key [default: off; full with the scripted model].
    #[arg(long, env = "STEPWELL_RECORD", value_enum)]
    pub(crate) record: Option<Record>,
    /// How long runs may continue once the server is told to stop, in seconds.
    #[arg(long, env = "STEPWELL_GRACE", value_name = "SECONDS", default_value_t = 10, help_heading = BOUNDS)]
    pub(crate) grace: u64,
}

/// What is kept of the journals of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Record {
    /// Nothing.
    Off,
    /// The journals with their texts hidden.
    Redacted,
    /// The complete journals.
    Full,
}

impl Record {
    /// Returns the name of its flag.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Redacted => "redacted",
            Self::Full => "full",
        }
    }
}

/// Refuses an empty value: a variable that was not filled must not leave the server open.
fn text(text: &str) -> Result<String, &'static str> {
    match text.trim().is_empty() {
        true => Err("it is empty (leave it out, or give it a value)"),
        false => Ok(text.to_owned()),
    }
}

fn path(path: &str) -> Result<PathBuf, &'static str> {
    text(path).map(PathBuf::from)
}

fn secret(secret: &str) -> Result<Secret, &'static str> {
    text(secret).map(Secret::from)
}

fn hide_secret<S: Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(|_| "***").serialize(serializer)
}
