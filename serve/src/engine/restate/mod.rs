//! The engine of many hosts: Restate decides which of them drives a turn, and gives it to another when that one has
//! died.
//!
//! A thread is an object there, so one turn of it is driven at a time; a turn is a call that holds no more than its
//! name. A host drives a turn from Restate as it drives every turn: nothing of the turn is in Restate's journal, and
//! all is in the store. An attempt is made at least once. Two attempts may run side by side, where Restate has lost its
//! connection to the first: each claims the turn in the store, and writes under the earlier claim are refused. A turn
//! that only its user can move on is released, and no call is open for it; an answer is a new call.

// The simulation alone sees what is public in these.
#[allow(missing_docs)]
mod client;
mod listener;
#[allow(missing_docs)]
mod protocol;
mod services;
mod settings;
#[allow(missing_docs)]
mod work;

use crate::engine::Command;
use crate::engine::{Driver, DriverSetup, LONGEST_REQUEST};
use crate::engine::{Engine, EngineError, NewTurn};
/// The traits with which the simulation replaces Restate.
#[cfg(feature = "testing")]
#[allow(missing_docs)]
pub mod seam {
    pub use super::client::{Restate, RestateError};
    pub use super::listener::Door;
    pub use super::protocol::{Invocation, Signal, Tell, Why};
    pub use super::work::Work;
    pub use crate::engine::reply::Reply;
}

use client::{Client, Restate, begun};
use futures::FutureExt;
use futures::future::BoxFuture;
use listener::{Door, Listener};
use protocol::{ELSEWHERE, Invocation, Says, Tell, Why};
pub use settings::RestateSettings;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::store::{Generation, StoreError, TurnKey, Unfinished};
use tokio_util::sync::CancellationToken;
use work::Work;

/// How often the store is read for turns that Restate does not know, or that another host has taken.
const LOOKED_EVERY: Duration = Duration::from_secs(2);

/// Has turns driven by whichever host Restate chooses.
#[derive(Debug)]
pub struct RestateEngine {
    work: Arc<Work>,
    door: Box<dyn Door>,
    /// It looks for nothing any more.
    over: CancellationToken,
}

impl RestateEngine {
    /// Listens for Restate, which does not know the host yet.
    ///
    /// # Errors
    /// The address is not free, or the identity key is not valid.
    pub async fn new(setup: DriverSetup, settings: &RestateSettings) -> io::Result<Self> {
        let client = Client::new(&settings.ingress, &settings.admin).map_err(io::Error::other)?;
        let work = Self::work(setup, Arc::new(client.clone()));
        let listener = Listener::bind(settings, client, &work).await?;
        Ok(Self::behind(work, Box::new(listener)))
    }

    /// Creates what drives turns on this host.
    pub fn work(setup: DriverSetup, client: Arc<dyn Restate>) -> Arc<Work> {
        let setup = DriverSetup {
            elsewhere: Some(ELSEWHERE),
            ..setup
        };
        let driver = Driver::new(setup);
        Arc::new(Work { driver, client })
    }

    /// Given its turns through this door.
    pub fn behind(work: Arc<Work>, door: Box<dyn Door>) -> Self {
        Self {
            work,
            door,
            over: CancellationToken::new(),
        }
    }

    /// Tells a turn something, wherever it is driven.
    async fn tell_there(&self, turn: &TurnKey, says: Says) -> Result<(), EngineError> {
        let tell = Tell {
            thread: turn.thread.clone(),
            turn: turn.turn.clone(),
            says,
        };
        let reply = self.work.client.tell(&tell, LONGEST_REQUEST).await?;
        reply.heard(&turn.turn)
    }

    async fn stop_turn(&self, turn: Unfinished) -> Result<(), EngineError> {
        let driver = self.driver();
        if let Some(active) = driver.find(&turn.key) {
            active.cancel.cancel();
            let _ = tokio::time::timeout(LONGEST_REQUEST, active.ended.cancelled()).await;
            if driver.unfinished(&turn.key).await?.is_none() {
                return Ok(());
            }
        }
        self.tell_there(&turn.key, Says::Stop).await
    }
}

/// Looks for stored turns that were not sent to Restate, and releases those that another host has taken.
async fn keep_looking(work: Arc<Work>, over: CancellationToken) {
    let mut waiting = HashSet::new();
    loop {
        tokio::select! {
            biased;
            () = over.cancelled() => return,
            () = tokio::time::sleep(LOOKED_EVERY) => {}
        }
        match look(&work, &waiting).await {
            Ok(seen) => waiting = seen,
            Err(error) => {
                tracing::warn!(target: "stepwell", %error, "turns that wait cannot be sent; trying again");
            }
        }
    }
}

/// Sends the turns that have begun and that waited at the last look already. Gives those that wait now.
async fn look(work: &Work, waited: &HashSet<TurnKey>) -> Result<HashSet<TurnKey>, EngineError> {
    let (store, setup) = (work.driver.store(), work.driver.setup());
    let own = store.unfinished(Some(&setup.owner)).await?;
    work.driver.let_go_of_taken(&own).await;
    let mut waiting = HashSet::new();
    for turn in store.unfinished(Some(ELSEWHERE)).await? {
        if turn.generation == Generation::FIRST {
            if waited.contains(&turn.key) {
                send(work, &turn.key).await?;
            }
            waiting.insert(turn.key);
        }
    }
    Ok(waiting)
}

/// Has a turn driven that has begun. However often it is sent, it is driven once.
async fn send(work: &Work, turn: &TurnKey) -> Result<(), EngineError> {
    let invocation = Invocation::new(turn, Why::Begun);
    Ok(work.client.send(&invocation, &begun(turn), None).await?)
}

impl Engine for RestateEngine {
    fn driver(&self) -> &Driver {
        &self.work.driver
    }

    fn open(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            self.driver().leased().await?;
            self.door.open();
            tokio::spawn(self.driver().clone().keep_hearing());
            tokio::spawn(keep_looking(Arc::clone(&self.work), self.over.clone()));
            Ok(())
        }
        .boxed()
    }

    fn resting(&self) -> &'static str {
        ELSEWHERE
    }

    fn refuses(&self) -> Option<EngineError> {
        None
    }

    fn begin<'a>(
        &'a self,
        key: &'a TurnKey,
        turn: NewTurn,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            self.driver().start_turn(key, turn).await?;
            if let Err(error) = send(&self.work, key).await {
                // The turn is in the store: a later look there sends it.
                tracing::warn!(target: "stepwell", turn = %key, %error, "a turn has begun, and waits for Restate");
            }
            Ok(())
        }
        .boxed()
    }

    fn pass_on(
        &self,
        turn: Unfinished,
        command: Command,
    ) -> BoxFuture<'_, Result<(), EngineError>> {
        async move { self.tell_there(&turn.key, Says::Command(command)).await }.boxed()
    }

    fn end(&self, turn: Unfinished) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let key = turn.key.clone();
            self.stop_turn(turn).await?;
            match self.driver().unfinished(&key).await? {
                None => Ok(()),
                Some(_) => {
                    let message = "the turn is stopped, and its end waits to be stored".to_owned();
                    Err(StoreError::Unavailable { message }.into())
                }
            }
        }
        .boxed()
    }

    fn close(&self, grace: Duration) -> BoxFuture<'_, ()> {
        async move {
            self.over.cancel();
            self.door.close();
            self.driver().stop(grace).await;
        }
        .boxed()
    }
}
