//! The calls of the store at the beginning of a turn.

use super::history::history;
use super::patience::{Notices, Patience};
use super::stored::{StoreSetup, StoredTurn};
use crate::store::{Claimed, Lease, NewTurn, StoreError, TurnKey, Unfinished};
use futures::FutureExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::run::{Failure, Outcome, RunConfig};
use stepwell_core::session::Turn;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What all calls of the store at the beginning of a turn share.
pub(crate) struct Beginning<'a> {
    pub(crate) config: &'a Arc<RunConfig>,
    pub(crate) stored: &'a StoreSetup,
    pub(crate) notices: &'a Notices,
    pub(crate) cancel: &'a CancellationToken,
    /// A turn that another host drives is left to it: this one does not begin.
    pub(crate) fails_if_busy: bool,
    /// How long the conversation took to be made of stored turns, if it was.
    pub(crate) history_took: &'a OnceLock<Duration>,
}

impl<'a> Beginning<'a> {
    pub(crate) fn patience(&self) -> Patience {
        Patience::of(self.config)
    }

    /// Returns the lease of this owner.
    pub(crate) async fn lease(&self) -> Result<Option<Arc<Lease>>, StoreError> {
        let lease = || self.stored.lease().boxed();
        self.patience().call(self.notices, self.cancel, lease).await
    }

    /// The conversation as of a stored turn.
    pub(crate) async fn history(&self, turn: &TurnKey) -> Result<Conversation, StoreError> {
        let path = self.path(turn).await?;
        let begin = Instant::now();
        let history = history(&path)?;
        let _ = self.history_took.set(begin.elapsed());
        Ok(history)
    }

    /// The stored turns up to this one, the oldest first.
    pub(crate) async fn path(&self, turn: &TurnKey) -> Result<Vec<Turn>, StoreError> {
        let store = &self.stored.store;
        self.patience()
            .call(self.notices, self.cancel, || store.path(turn))
            .await
    }

    /// Stores that the turn begins.
    pub(crate) async fn begin(&self, new: &NewTurn) -> Result<StoredTurn, StoreError> {
        let store = &self.stored.store;
        let mut tries = 0;
        let begun = self
            .patience()
            .call(self.notices, self.cancel, || {
                tries += 1;
                store.begin_turn(new)
            })
            .await;
        let key = new.key.clone();
        match begun {
            Ok(generation) => Ok(StoredTurn { key, generation }),
            // An earlier try may have been done, and its answer lost on the way.
            Err(error @ StoreError::Exists { .. }) if tries > 1 => {
                let claimed = self.claim(&key, true).await?.ok_or(error)?;
                let generation = claimed.generation;
                Ok(StoredTurn { key, generation })
            }
            Err(error) => Err(error),
        }
    }

    /// Claims a turn, if it is unfinished: `own` if it is under this host's name alone. A claim whose answer was lost
    /// is made anew, from the generation that it left.
    pub(crate) async fn claim(
        &self,
        key: &TurnKey,
        own: bool,
    ) -> Result<Option<Claimed>, StoreError> {
        let StoreSetup { store, owner, .. } = self.stored;
        let claim = || {
            async {
                let record = store.thread(&key.thread).await?;
                let unfinished = record.and_then(|record| record.unfinished);
                let is_it = |turn: &Unfinished| turn.key == *key && (!own || turn.owner == *owner);
                match unfinished.filter(is_it) {
                    Some(turn) => match store.claim(key, turn.generation, owner).await {
                        Err(StoreError::Closed { .. }) => Ok(None),
                        claimed => claimed.map(Some),
                    },
                    None => Ok(None),
                }
            }
            .boxed()
        };
        self.patience().call(self.notices, self.cancel, claim).await
    }
}

/// A turn that could not be stored has not begun.
pub(crate) fn not_stored(error: &StoreError) -> Outcome {
    let message = error.to_string();
    Outcome::Failed {
        failure: Failure::NotStored { message },
    }
}
