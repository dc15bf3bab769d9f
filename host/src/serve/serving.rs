use super::connections::Bounds;
use crate::access::Access;
use crate::settings::Record;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::store::Store;
use stepwell_serve::ClientTrust;
#[cfg(feature = "restate")]
use stepwell_serve::parts::RestateSettings;

/// The behaviour of the server towards its clients.
#[derive(Clone, Debug)]
pub(crate) struct Serving {
    /// The limits for a client.
    pub(crate) limits: Limits,
    /// The store of the sessions.
    pub(crate) sessions: SessionStore,
    /// The engine, which decides where turns run.
    pub(crate) engine: EngineSettings,
    /// Which requests are authorized.
    pub(crate) access: Access,
    /// Whether clients may give the model instructions.
    pub(crate) trust: ClientTrust,
    /// The web origins that may read the answers; `*` is any.
    pub(crate) origins: Vec<String>,
    /// The names by which the server may be reached without a token, besides its addresses and localhost.
    pub(crate) hosts: Vec<String>,
    /// Whether the journals of turns are kept.
    pub(crate) record: Record,
    /// How long a stream may be silent before a comment is sent.
    pub(crate) keep_alive: Duration,
}

/// The engine, which decides where turns run.
#[derive(Clone, Debug)]
pub(crate) enum EngineSettings {
    /// Each turn runs where it began, and on another host when that one has died.
    Local,
    /// Restate.
    #[cfg(feature = "restate")]
    Restate(RestateSettings),
    /// The simulation's.
    #[cfg(all(test, feature = "restate"))]
    Simulated(super::simulation::Maker),
}

/// The store of the sessions.
#[derive(Clone, Debug)]
pub(crate) struct SessionStore {
    pub(crate) store: Arc<dyn Store>,
    /// The label of this host among those on the store.
    pub(crate) label: String,
    /// Whether the sessions survive a restart.
    pub(crate) is_durable: bool,
}

/// The limits for a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest request body, in bytes.
    pub(crate) body: usize,
    /// The most runs at once. Turns of sessions that wait for their user do not count.
    pub(crate) runs: usize,
    /// The most runs at once of one user.
    pub(crate) user_runs: Option<NonZeroUsize>,
    /// The most threads of one user.
    pub(crate) user_threads: Option<NonZeroUsize>,
    /// The most turns of one user that wait for them.
    pub(crate) user_waiting: usize,
    /// The most requests a minute of one user.
    pub(crate) user_requests: Option<NonZeroU32>,
    /// The most open streams of one user.
    pub(crate) user_streams: Option<NonZeroUsize>,
    /// The most connections at once.
    pub(crate) connections: usize,
    /// The time that the headers of a new connection's request may take to arrive.
    pub(crate) header_timeout: Duration,
    /// How long a connection may stay open between two requests.
    pub(crate) idle_timeout: Duration,
    /// The time that a run may take.
    pub(crate) run_time: Duration,
    /// How long a question to the user stays open.
    pub(crate) interrupt_time: Duration,
    /// How long a run without readers continues, unless its client wants it in the background: without limit if absent.
    pub(crate) linger: Option<Duration>,
    /// How long the events of a turn that is over are kept: without limit if absent.
    pub(crate) keep_events: Option<Duration>,
    /// How long a turn waits for a store that is full or out of reach.
    pub(crate) store_timeout: Duration,
    /// How long runs may continue once the server must stop.
    pub(crate) grace: Duration,
}

impl Limits {
    pub(super) fn connections(&self) -> Bounds {
        Bounds {
            most: self.connections,
            header_timeout: self.header_timeout,
            idle_timeout: self.idle_timeout,
        }
    }
}
