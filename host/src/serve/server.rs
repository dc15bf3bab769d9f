//! What all requests share.

use super::backend::Backend;
use super::metrics::Metrics;
use super::recording::Recorder;
use super::serving::Serving;
use super::store_health::StoreHealth;
use super::stored_sessions::StoredSessions;
use super::user_limits::UserLimits;
use std::sync::Arc;
use stepwell_serve::AgUiServer;
use stepwell_serve::parts::TurnAgent;

/// The state that all requests share.
pub(super) struct Server {
    pub(super) backend: Backend,
    /// The agent that runs all turns.
    pub(super) agent: Arc<TurnAgent>,
    pub(super) serving: Serving,
    /// The runs that clients post, and the readers of turns.
    pub(super) runs: AgUiServer,
    pub(super) user_limits: UserLimits,
    pub(super) metrics: Metrics,
    /// The stored sessions.
    pub(super) sessions: StoredSessions,
    /// The recorder of the journals of turns, if they are kept.
    pub(super) recorder: Option<Recorder>,
    pub(super) store_health: StoreHealth,
}
