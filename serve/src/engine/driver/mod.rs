//! The turns that this process drives: a task for each. Which they are is decided by an [engine](super::Engine).

mod active;
mod admission;
mod lost_ends;
mod setup;

pub(crate) use active::{Active, GoesOn};
pub use admission::Permit;
pub use setup::DriverSetup;

use crate::engine::forgotten::Ended;
use crate::engine::own_lease::OwnLease;
use crate::engine::{EngineError, LOOKS, NewTurn, Origin, Parent};
use crate::turn::agent::TurnAgent;
use crate::turn::lost_end;
use crate::turn::session_turn::{SessionTurn, TurnStart};
use futures::FutureExt;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{Store, StoreError, TurnKey, Unfinished};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Drives turns in tasks of this process, for any engine. Clones share the turns.
#[derive(Clone, Debug)]
pub struct Driver(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    setup: Arc<DriverSetup>,
    active: Mutex<HashMap<TurnKey, Active>>,
    tasks: TaskTracker,
    own_lease: OwnLease,
    /// The turns that are over, on a store that keeps nothing.
    ended: Ended,
    /// The number of requests for turns that are being read.
    permits: Arc<AtomicUsize>,
    /// Cancelled when the driver takes no more turns.
    closing: CancellationToken,
    /// Releases all turns: they stay unfinished, for the next start.
    leave: CancellationToken,
}

impl Driver {
    pub(crate) fn new(setup: DriverSetup) -> Self {
        Self(Arc::new(Inner {
            setup: Arc::new(setup),
            active: Mutex::default(),
            tasks: TaskTracker::new(),
            own_lease: OwnLease::default(),
            ended: Ended::default(),
            permits: Arc::default(),
            closing: CancellationToken::new(),
            leave: CancellationToken::new(),
        }))
    }

    pub(crate) fn setup(&self) -> &DriverSetup {
        &self.0.setup
    }

    /// Returns the store that keeps the driver's turns.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.setup.store
    }

    /// Returns the lease of this host.
    pub(crate) fn own_lease(&self) -> &OwnLease {
        &self.0.own_lease
    }

    /// Waits until this host holds its lease: a turn that it begins or claims before is taken from it.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub(crate) async fn leased(&self) -> Result<(), StoreError> {
        self.0.own_lease.held(self.setup()).await
    }

    /// Takes no more turns, and gives those under way time to end. Those that have not ended are released: another host, or the
    /// next start, continues them.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.close();
        if tokio::time::timeout(grace, self.0.tasks.wait())
            .await
            .is_err()
        {
            if self.0.setup.is_durable {
                self.0.leave.cancel();
            } else {
                // No host will continue these turns.
                self.active().iter().for_each(|turn| turn.cancel.cancel());
            }
            self.0.tasks.wait().await;
        }
        self.0.own_lease.end().await;
    }

    /// Takes no more turns. What waits for a run waits no longer.
    pub(crate) fn close(&self) {
        self.0.tasks.close();
        self.0.closing.cancel();
    }

    /// Returns whether the driver takes no more turns.
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.tasks.is_closed()
    }

    /// Claims an unfinished turn for this host, and continues it.
    pub(crate) async fn adopt(&self, turn: Unfinished, why: GoesOn) -> Result<Active, EngineError> {
        self.leased().await?;
        let setup = self.setup();
        let claim = setup.store.claim(&turn.key, turn.generation, &setup.owner);
        let claimed = claim.await?;
        tracing::info!(target: "stepwell", turn = %turn.key, "an unfinished turn goes on");
        Ok(self.spawn(turn.key, TurnStart::Revived(claimed), None, why))
    }

    fn spawn(
        &self,
        key: TurnKey,
        begin: TurnStart,
        agent: Option<Arc<TurnAgent>>,
        why: GoesOn,
    ) -> Active {
        let (active, ends) = Active::new(&self.0.leave);
        if why.cancelled {
            active.cancel.cancel();
        }
        let continued = why.command.and_then(|command| active.send_first(command));
        self.lock().insert(key.clone(), active.clone());
        let turn = SessionTurn {
            setup: Arc::clone(&self.0.setup),
            key,
            agent,
            continued,
            readers: active.readers.subscribe(),
            closing: self.0.closing.clone(),
            commands: ends.commands,
            cancel: active.cancel.clone(),
            has_lapsed: why.has_lapsed,
            leave: active.leave.clone(),
            trouble: ends.trouble,
            asks: ends.asks,
            is_waiting: Arc::clone(&active.is_waiting),
            is_over: Arc::clone(&active.is_over),
            stands: Arc::clone(&active.stands),
        };
        let ended = active.ended.clone().drop_guard();
        self.0.tasks.spawn(self.clone().drive(turn, begin, ended));
        active
    }

    /// Drives a turn to its end. One whose task panics ends too.
    async fn drive(self, turn: SessionTurn, begin: TurnStart, ended: DropGuard) {
        let key = turn.key.clone();
        let work = AssertUnwindSafe(turn.run(begin)).catch_unwind();
        if work.await.is_err() {
            tracing::error!(target: "stepwell", turn = %key, "a turn broke off, and ends");
            let end = lost_end::broke_off(self.setup(), &key, self.0.leave.clone());
            if let Ok(Err(error)) = AssertUnwindSafe(end).catch_unwind().await {
                tracing::error!(target: "stepwell", turn = %key, %error, "its end cannot be stored");
            }
        }
        self.lock().remove(&key);
        if !self.setup().is_durable {
            self.0.ended.add(key);
        }
        drop(ended);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnKey, Active>> {
        // Nothing is left half-done under the lock.
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, turn: &TurnKey) -> Option<Active> {
        self.lock().get(turn).cloned()
    }

    /// The turns under way.
    pub(crate) fn active(&self) -> Vec<Active> {
        self.lock().values().cloned().collect()
    }

    /// Returns the name of a new turn, if it may begin.
    pub(crate) async fn admit(&self, new: &NewTurn) -> Result<TurnKey, EngineError> {
        self.leased().await?;
        let store = self.store();
        let key = TurnKey::new(new.thread.clone(), new.turn.clone());
        self.check_new(&key).await?;
        if let Origin::Stored(Parent::Turn(parent), _) = &new.origin {
            let parent = TurnKey::new(key.thread.clone(), parent.clone());
            if store.turn(&parent).await?.is_none() {
                let turn = parent.turn;
                return Err(StoreError::NoTurn { turn }.into());
            }
        }
        Ok(key)
    }

    /// # Errors
    /// There is such a turn.
    pub(crate) async fn check_new(&self, turn: &TurnKey) -> Result<(), EngineError> {
        match self.store().event_log(turn).await {
            Err(StoreError::NoTurn { .. }) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => {
                let turn = turn.turn.clone();
                Err(StoreError::Exists { turn }.into())
            }
        }
    }

    /// Starts a turn here, and waits until it is stored that it has begun.
    pub(crate) async fn start_turn(&self, key: &TurnKey, new: NewTurn) -> Result<(), EngineError> {
        let (begun, has_begun) = oneshot::channel();
        let begin = TurnStart::Started {
            origin: new.origin,
            base: new.base.map(Box::new),
            brought: Box::new(new.brought),
            whole_history: new.whole_history,
            begun,
        };
        let active = self.spawn(key.clone(), begin, new.agent, GoesOn::default());
        let begun = has_begun.await.unwrap_or(Err(EngineError::Internal));
        if begun.is_err() {
            // The turn may be tried again under the same key.
            active.ended.cancelled().await;
        }
        begun
    }

    /// The turn, if it has not come to its end.
    pub(crate) async fn unfinished(
        &self,
        turn: &TurnKey,
    ) -> Result<Option<Unfinished>, EngineError> {
        let store = self.store();
        let no_turn = || StoreError::NoTurn {
            turn: turn.turn.clone(),
        };
        for _ in 0..LOOKS {
            let thread = store.thread(&turn.thread).await?.ok_or_else(no_turn)?;
            if let Some(unfinished) = thread.unfinished.filter(|open| open.key == *turn) {
                return Ok(Some(unfinished));
            }
            let stored = store.turn(turn).await?.ok_or_else(no_turn)?;
            if stored.status != TurnStatus::Streaming {
                return Ok(None);
            }
            // The turn began between the two reads.
        }
        Err(EngineError::Contended)
    }
}
