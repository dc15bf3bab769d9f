//! What stands in the store before a turn's first request goes out.

use super::history::history;
use super::patience::{Notices, Patience};
use super::take_over::take_over;
use super::{StoreSetup, StoredTurn};
use crate::setup::Setup;
use crate::store::{Claimed, Lease, NewTurn, RESTING, StoreError, TurnKey, Unfinished};
use crate::when_busy::WhenBusy;
use futures::FutureExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::run::{Failure, Outcome};
use stepwell_core::session::Turn;
use stepwell_core::{RunId, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// After which turn a new one comes.
#[derive(Clone, Debug, Default)]
pub(crate) enum BeginFrom {
    /// The last one of the thread.
    #[default]
    Latest,
    /// This one; none makes it a first turn.
    Turn(Option<RunId>),
    /// None: the conversation is what the agent was given, whatever the thread has.
    Given,
}

/// What a new turn goes on from.
pub(crate) struct Before {
    pub(crate) history: Conversation,
    /// Whether the store has no turns that give the history.
    pub(crate) is_history_new: bool,
    pub(crate) parent: Option<RunId>,
}

/// What all calls of the store at the beginning of a turn share.
pub(crate) struct Beginning<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) stored: &'a StoreSetup,
    pub(crate) notices: &'a Notices,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) when_busy: WhenBusy,
    /// How long the conversation took to be made of stored turns, if it was.
    pub(crate) history_took: &'a OnceLock<Duration>,
}

impl<'a> Beginning<'a> {
    pub(crate) fn patience(&self) -> Patience {
        Patience::of(&self.setup.config)
    }

    /// Returns the lease of this owner.
    pub(crate) async fn lease(&self) -> Result<Option<Arc<Lease>>, StoreError> {
        let lease = || self.stored.lease().boxed();
        self.patience().call(self.notices, self.cancel, lease).await
    }

    /// What the store has before the turn `new`. `known` is what this process knows: the thread's last turn, and the
    /// conversation after it. A turn of the thread that has not come to its end is stopped first, as one of this process
    /// would be; one that another host drives only where the app says so.
    pub(crate) async fn before(
        &self,
        new: &TurnKey,
        from: BeginFrom,
        known: (Option<RunId>, Conversation),
        now: Timestamp,
    ) -> Result<Before, StoreError> {
        let store = &self.stored.store;
        let thread = &new.thread;
        let patience = self.patience();
        let record = patience
            .call(self.notices, self.cancel, || store.thread(thread))
            .await?;
        let Some(record) = record else {
            let (_, history) = known;
            let parent = match from {
                BeginFrom::Latest | BeginFrom::Given => None,
                BeginFrom::Turn(parent) => parent,
            };
            return Ok(Before {
                history,
                is_history_new: true,
                parent,
            });
        };
        let mut stopped = None;
        if let Some(unfinished) = &record.unfinished {
            // Whoever begins it may be late: it was begun elsewhere, and it, or a later one, is under way.
            let is_there = patience.call(self.notices, self.cancel, || store.turn(new));
            if is_there.await?.is_some() {
                let turn = new.turn.clone();
                return Err(StoreError::Exists { turn });
            }
            if self.when_busy == WhenBusy::Fail && self.is_under_way(unfinished).await? {
                return Err(StoreError::Busy {
                    turn: unfinished.key.turn.clone(),
                    generation: unfinished.generation,
                    owner: unfinished.owner.clone(),
                });
            }
            let history = take_over(self, unfinished, now).await?;
            stopped = Some((unfinished.key.turn.clone(), history));
        }
        let (last, conversation) = known;
        let parent = match from {
            BeginFrom::Latest => record.latest,
            BeginFrom::Turn(parent) => parent,
            BeginFrom::Given => {
                return Ok(Before {
                    history: conversation,
                    is_history_new: true,
                    parent: None,
                });
            }
        };
        let history = match (&parent, stopped) {
            (None, _) => Conversation::default(),
            (Some(parent), Some((turn, Some(history)))) if *parent == turn => history,
            (Some(parent), None) if last.as_ref() == Some(parent) => conversation,
            (Some(parent), _) => {
                let turn = TurnKey::new(thread.clone(), parent.clone());
                self.history(&turn).await?
            }
        };
        Ok(Before {
            history,
            is_history_new: false,
            parent,
        })
    }

    /// Whether another host drives a turn. What this one has left unfinished rests: else it had the thread here.
    async fn is_under_way(&self, turn: &Unfinished) -> Result<bool, StoreError> {
        if turn.owner == self.stored.owner || turn.owner == RESTING {
            return Ok(false);
        }
        let store = &self.stored.store;
        let orphans = || store.orphans();
        let orphans = self
            .patience()
            .call(self.notices, self.cancel, orphans)
            .await?;
        Ok(!orphans.iter().any(|orphan| orphan.key == turn.key))
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
