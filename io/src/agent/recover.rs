//! Continues turns that an earlier process left unfinished.

use crate::agent::Agent;
use crate::agent::revive::ReviveError;
use crate::answer::output::Output;
use crate::app::setup::Setup;
use crate::base::Clock;
use crate::base::lock;
use crate::durable::{StoreSetup, StoredTurn, history, in_time};
use crate::error::Error;
use crate::run::turn::Turn;
use crate::start::begin::Begin;
use crate::start::when_busy::WhenBusy;
use crate::store::{Claimed, LEASE_TERM, Lease, StoreError, TurnKey, Unfinished};
use crate::turn::journaled::JournaledRun;
use futures::FutureExt;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::{Start, TurnOptions};
use tokio::time::Instant;

/// How often the store is searched for turns whose leases have expired.
const SEARCH_INTERVAL: Duration = Duration::from_millis(250);

/// An unfinished turn of the store that continues in this process.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovered<T = String> {
    /// The key of the turn.
    pub key: TurnKey,
    /// The turn, which is under way again. If its checkpoint cannot be read, the turn stays unfinished in the store,
    /// for a program that can read it, or until another turn begins on its thread.
    pub turn: Result<Turn<T>, ReviveError>,
}

impl<T: Output> Agent<(), T> {
    /// Continues every unfinished turn of the store that no process drives any more, each on its own thread, with this
    /// agent's model and tools: the turns of processes that have died, and turns that were suspended. Call it when the
    /// program starts, and again at any time. Turns that a process drives are left alone.
    ///
    /// The lease of a process that has just died lasts for some seconds more. If the store has turns with such a lease,
    /// this waits until the lease has expired, or is renewed: up to five seconds.
    ///
    /// [`revive`](Self::revive) says where a turn continues. A turn that another host claims at the same time is left
    /// to that host.
    ///
    /// # Errors
    /// The store cannot be read or written. No turn was begun: try again.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn recover(&self) -> Result<Vec<Recovered<T>>, Error> {
        let Some((setup, stored)) = self.recovery() else {
            return Ok(Vec::new());
        };
        let lease = in_time(stored.lease().boxed()).await?;
        let unfinished = abandoned(&stored).await?;
        let mut begun = Vec::new();
        for unfinished in unfinished {
            let runner = self.parts.on(unfinished.key.thread.clone());
            let is_under_way = !lock(&runner.thread.current).ended.is_cancelled();
            if is_under_way {
                continue;
            }
            if let Some(begin) = claim(&setup, &stored, &lease, &unfinished).await? {
                begun.push((runner, unfinished.key, begin));
            }
        }
        let recovered = begun.into_iter().map(|(runner, key, begin)| Recovered {
            key,
            turn: begin.map(|begin| Turn::begin(&runner, begin, WhenBusy::Fail)),
        });
        Ok(recovered.collect())
    }
}

impl<T: Output> Agent<(), T> {
    /// Continues one unfinished turn of the store, as [`recover`](Self::recover) does, even if another host drives it:
    /// that host can write it no more. `None` if the turn has ended, or another host was quicker.
    ///
    /// # Errors
    /// The store cannot be read or written.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn recover_turn(
        &self,
        unfinished: &Unfinished,
    ) -> Result<Option<Recovered<T>>, Error> {
        let Some((setup, stored)) = self.recovery() else {
            return Ok(None);
        };
        let lease = in_time(stored.lease().boxed()).await?;
        let begin = claim(&setup, &stored, &lease, unfinished).await?;
        let runner = self.parts.on(unfinished.key.thread.clone());
        Ok(begin.map(|begin| Recovered {
            key: unfinished.key.clone(),
            turn: begin.map(|begin| Turn::begin(&runner, begin, WhenBusy::Fail)),
        }))
    }

    /// Returns the setup of a turn in the agent's store, and the store.
    fn recovery(&self) -> Option<(Arc<Setup>, StoreSetup)> {
        let stored = self.parts.threads.stored.clone()?;
        Some((
            self.parts.turn_setup(true),
            self.parts.with_its_code(stored),
        ))
    }
}

/// Returns the unfinished turns of this owner and of owners without a lease, once each lease is renewed or expired.
async fn abandoned(stored: &StoreSetup) -> Result<Vec<Unfinished>, StoreError> {
    let StoreSetup { store, owner, .. } = stored;
    let until = Instant::now() + LEASE_TERM;
    loop {
        let mut left = in_time(store.orphans()).await?;
        let mut unfinished = in_time(store.unfinished(None)).await?;
        let is_left = |turn: &Unfinished| left.iter().any(|left| left.key == turn.key);
        unfinished.retain(|turn| !is_left(turn));
        let (own, others): (Vec<_>, Vec<_>) = unfinished
            .into_iter()
            .partition(|turn| turn.owner == *owner);
        left.extend(own);
        if others.is_empty() || Instant::now() >= until {
            return Ok(left);
        }
        tokio::time::sleep(SEARCH_INTERVAL).await;
    }
}

/// Claims the turn for this host; `None` if another host was quicker.
pub(crate) async fn claim(
    setup: &Arc<Setup>,
    stored: &StoreSetup,
    lease: &Option<Arc<Lease>>,
    unfinished: &Unfinished,
) -> Result<Option<Result<Begin, ReviveError>>, StoreError> {
    let key = &unfinished.key;
    let claim = stored
        .store
        .claim(key, unfinished.generation, &stored.owner);
    let Claimed {
        generation,
        checkpoint,
    } = match in_time(claim).await {
        Ok(claimed) => claimed,
        Err(error) if error.is_lost() => return Ok(None),
        Err(error) => return Err(error),
    };
    let turn = StoredTurn {
        key: key.clone(),
        generation,
    };
    let Some(checkpoint) = checkpoint else {
        return restart(setup, stored, lease.clone(), turn)
            .await
            .map(|begin| Some(Ok(begin)));
    };
    let journal = setup.journal.as_ref();
    let path = in_time(stored.store.path(&turn.key)).await?;
    let now = Clock::new().now();
    let run = JournaledRun::revive_stored(&checkpoint, &path, &setup.config, journal, now);
    Ok(Some(match run {
        Ok(run) => Ok(Begin::Claimed {
            turn,
            lease: lease.clone(),
            run: Box::new(run),
            setup: Arc::clone(setup),
            shown: Vec::new(),
        }),
        Err(error) => Err(error.into()),
    }))
}

/// Starts again a turn of which the store has only the message.
async fn restart(
    setup: &Arc<Setup>,
    stored: &StoreSetup,
    lease: Option<Arc<Lease>>,
    turn: StoredTurn,
) -> Result<Begin, StoreError> {
    let mut path = in_time(stored.store.path(&turn.key)).await?;
    let own = path.pop();
    let own_history = own.as_ref().and_then(|own| own.history.clone());
    let start = Start {
        run_id: turn.key.turn.clone(),
        message: own.and_then(|own| own.message),
        resume: Vec::new(),
        parent_run_id: None,
        options: TurnOptions::default(),
    };
    Ok(Begin::Restarted {
        turn,
        lease,
        start: Box::new(start),
        history: Box::new(match own_history {
            Some(history) => history.transcript(),
            None => history(&path)?,
        }),
        setup: Arc::clone(setup),
    })
}
