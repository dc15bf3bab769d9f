//! What turns are driven with.

use crate::engine::{Journals, LONGEST_REQUEST, Observer, RunObserver};
use crate::turn::agent::TurnAgent;
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::config::{Endpoint, RetryPolicy};
use stepwell_io::store::Store;
use stepwell_io::tool::ToolRegistry;
use time::OffsetDateTime;

/// Everything that a driver needs to drive turns.
#[derive(Debug)]
pub struct DriverSetup {
    /// The store of the turns.
    pub store: Arc<dyn Store>,
    /// Whether turns that have not ended when the server stops continue when it, or another host, starts.
    pub is_durable: bool,
    /// The name of this life of the host among those on the store.
    pub owner: String,
    /// The agent that runs turns which bring none of their own. Without it, turns that another process has left are
    /// ended.
    pub agent: Option<Arc<TurnAgent>>,
    /// The models that a turn may ask for in its place.
    pub offered: Vec<Endpoint>,
    /// The observer of the turns.
    pub observer: Option<Arc<dyn Observer>>,
    /// The store of the turns' journals, if they are kept.
    pub journals: Option<Arc<dyn Journals>>,
    /// The most turns at once, without those that wait for their user.
    pub most: usize,
    /// The most turns of one user that wait for them.
    pub waiting: usize,
    /// The time that a turn may take, without the time that it waits for its user.
    pub run_time: Duration,
    /// How long a question stays open.
    pub interrupt_time: Duration,
    /// How long a run without readers continues, unless its client wants it in the background: without limit if absent.
    pub linger: Option<Duration>,
    /// How long a turn waits for a store that is full or out of reach.
    pub store_timeout: Duration,
    /// The owner name of stored turns that no host drives at the moment, if there are such turns. A turn that has begun
    /// is driven by the host that receives it. A turn that only its user can move on is released until they do.
    pub elsewhere: Option<&'static str>,
}

impl DriverSetup {
    /// Returns the event of a run's beginning.
    pub(crate) fn observed(&self) -> Option<Box<dyn RunObserver>> {
        self.observer.as_ref().map(|observer| observer.begun())
    }

    /// The tools of its own agent.
    pub(crate) fn tools(&self) -> ToolRegistry {
        let agent = self.agent.as_ref();
        agent.map_or_else(ToolRegistry::new, |agent| agent.tools().clone())
    }

    /// Returns when a question that is asked now expires.
    pub(crate) fn expires(&self) -> Option<OffsetDateTime> {
        let time = time::Duration::try_from(self.interrupt_time).ok()?;
        let now = OffsetDateTime::now_utc();
        now.replace_nanosecond(0).ok()?.checked_add(time)
    }

    /// Returns how many times the store is asked to take a new turn: the pauses between the attempts add up to the time
    /// that it may take.
    pub(crate) fn attempts(&self) -> u32 {
        let RetryPolicy {
            first_delay,
            max_delay,
            ..
        } = RetryPolicy::default();
        let longest = self.store_timeout.min(LONGEST_REQUEST);
        let (mut attempts, mut waited, mut pause) = (1, Duration::ZERO, first_delay);
        while waited < longest && attempts < 20 {
            waited += pause;
            pause = (pause * 2).min(max_delay);
            attempts += 1;
        }
        attempts
    }
}
