//! The calls of the store at the beginning of a turn.

use super::history::history;
use super::retry::{StoreNotices, StoreRetry};
use super::stored::{StoreSetup, StoredTurn};
use crate::store::{Claimed, Lease, NewTurn, StoreError, StoreFuture, TurnKey, Unfinished};
use futures::FutureExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepwell_core::run::{Failure, Outcome, RunConfig};
use stepwell_core::session::Turn;
use stepwell_core::transcript::Transcript;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The calls of the store at the beginning of a turn, each of which is tried again.
pub(crate) struct Beginning<'a> {
    pub(crate) config: &'a Arc<RunConfig>,
    pub(crate) stored: &'a StoreSetup,
    pub(crate) notices: &'a StoreNotices,
    pub(crate) cancel: &'a CancellationToken,
    /// The new turn does not begin while another host drives a turn of the thread.
    pub(crate) fails_if_busy: bool,
    /// The time that it took to rebuild the conversation from stored turns, if it was rebuilt.
    pub(crate) history_took: &'a OnceLock<Duration>,
}

impl<'a> Beginning<'a> {
    /// Calls the store, up to as many times as the configuration allows.
    pub(super) async fn call<'c, T>(
        &self,
        call: impl FnMut() -> StoreFuture<'c, T>,
    ) -> Result<T, StoreError> {
        let retry = StoreRetry::from_config(self.config);
        retry.call(self.notices, self.cancel, call).await
    }

    /// Returns the lease of this owner.
    pub(crate) async fn lease(&self) -> Result<Option<Arc<Lease>>, StoreError> {
        self.call(|| self.stored.lease().boxed()).await
    }

    /// Returns the conversation as of a stored turn.
    pub(super) async fn history(&self, turn: &TurnKey) -> Result<Transcript, StoreError> {
        let path = self.path(turn).await?;
        let begin = Instant::now();
        let history = history(&path)?;
        let _ = self.history_took.set(begin.elapsed());
        Ok(history)
    }

    /// Returns the stored turns up to this one, the oldest first.
    pub(crate) async fn path(&self, turn: &TurnKey) -> Result<Vec<Turn>, StoreError> {
        let store = &self.stored.store;
        self.call(|| store.path(turn)).await
    }

    /// Stores a new turn.
    pub(crate) async fn begin(&self, new: &NewTurn) -> Result<StoredTurn, StoreError> {
        let store = &self.stored.store;
        let mut tries = 0;
        let begun = self.call(|| {
            tries += 1;
            store.begin_turn(new)
        });
        let begun = begun.await;
        let key = new.key.clone();
        match begun {
            Ok(generation) => Ok(StoredTurn { key, generation }),
            // An earlier try may have been stored, and its answer lost on the way.
            Err(error @ StoreError::Exists { .. }) if tries > 1 => {
                let claimed = self.claim_own(&key).await?.ok_or(error)?;
                let generation = claimed.generation;
                Ok(StoredTurn { key, generation })
            }
            Err(error) => Err(error),
        }
    }

    /// Claims an unfinished turn. A claim whose answer was lost is repeated from the generation that it left.
    pub(crate) async fn claim(&self, key: &TurnKey) -> Result<Option<Claimed>, StoreError> {
        self.claim_if(key, |_| true).await
    }

    /// Claims an unfinished turn that this owner has.
    async fn claim_own(&self, key: &TurnKey) -> Result<Option<Claimed>, StoreError> {
        self.claim_if(key, |turn| turn.owner == self.stored.owner)
            .await
    }

    async fn claim_if(
        &self,
        key: &TurnKey,
        condition: impl Fn(&Unfinished) -> bool + Sync,
    ) -> Result<Option<Claimed>, StoreError> {
        let StoreSetup { store, owner, .. } = self.stored;
        let claim = || {
            async {
                let record = store.thread(&key.thread).await?;
                let unfinished = record.and_then(|record| record.unfinished);
                match unfinished.filter(|turn| turn.key == *key && condition(turn)) {
                    Some(turn) => match store.claim(key, turn.generation, owner).await {
                        Err(StoreError::Closed { .. }) => Ok(None),
                        claimed => claimed.map(Some),
                    },
                    None => Ok(None),
                }
            }
            .boxed()
        };
        self.call(claim).await
    }
}

/// Returns the outcome of a turn that could not begin because its store failed.
pub(crate) fn not_stored(error: &StoreError) -> Outcome {
    let message = error.to_string();
    Outcome::Failed {
        failure: Failure::NotStored { message },
    }
}
