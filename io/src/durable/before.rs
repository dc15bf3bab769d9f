//! The turns in the store that come before a new turn.

use super::beginning::Beginning;
use super::take_over::take_over;
use crate::store::{RESTING, StoreError, TurnKey, Unfinished};
use stepwell_core::transcript::Transcript;
use stepwell_core::{RunId, Timestamp};

/// Which turn a new turn comes after.
#[derive(Clone, Debug, Default)]
pub(crate) enum BeginFrom {
    /// The last turn of the thread.
    #[default]
    Latest,
    /// A turn; `None` makes the new turn a first one.
    Turn(Option<RunId>),
    /// No turn: the conversation is the agent's own history, whatever the thread holds.
    Given,
}

/// The conversation that a new turn continues.
pub(crate) struct PriorTurns {
    pub(crate) history: Transcript,
    /// The store has no turns from which the history can be rebuilt.
    pub(crate) is_history_new: bool,
    pub(crate) parent: Option<RunId>,
}

/// A turn that was stopped for a new one, and the conversation after it, if its run could be read.
type Stopped = (RunId, Option<Transcript>);

impl Beginning<'_> {
    /// Reads what comes before the turn `new`. `known` is what this process knows: the thread's last turn, and the
    /// conversation after it. An unfinished turn of the thread is stopped first.
    pub(crate) async fn before(
        &self,
        new: &TurnKey,
        from: BeginFrom,
        known: (Option<RunId>, Transcript),
        now: Timestamp,
    ) -> Result<PriorTurns, StoreError> {
        let store = &self.stored.store;
        let (last, transcript) = known;
        let Some(record) = self.call(|| store.thread(&new.thread)).await? else {
            let parent = match from {
                BeginFrom::Latest | BeginFrom::Given => None,
                BeginFrom::Turn(parent) => parent,
            };
            return Ok(PriorTurns {
                history: transcript,
                is_history_new: true,
                parent,
            });
        };
        let stopped = match &record.unfinished {
            Some(unfinished) => Some(self.stop_unfinished(new, unfinished, now).await?),
            None => None,
        };
        let parent = match from {
            BeginFrom::Latest => record.latest,
            BeginFrom::Turn(parent) => parent,
            BeginFrom::Given => {
                return Ok(PriorTurns {
                    history: transcript,
                    is_history_new: true,
                    parent: None,
                });
            }
        };
        let history = match (&parent, stopped) {
            (None, _) => Transcript::default(),
            (Some(parent), Some((turn, Some(history)))) if *parent == turn => history,
            (Some(parent), None) if last.as_ref() == Some(parent) => transcript,
            (Some(parent), _) => {
                let turn = TurnKey::new(new.thread.clone(), parent.clone());
                self.history(&turn).await?
            }
        };
        Ok(PriorTurns {
            history,
            is_history_new: false,
            parent,
        })
    }

    /// Stops the unfinished turn of the thread. A turn that another host drives is stopped only if the app allows it.
    async fn stop_unfinished(
        &self,
        new: &TurnKey,
        unfinished: &Unfinished,
        now: Timestamp,
    ) -> Result<Stopped, StoreError> {
        let store = &self.stored.store;
        // The caller may be late: another host has begun the turn, and it or a later turn is under way.
        if self.call(|| store.turn(new)).await?.is_some() {
            let turn = new.turn.clone();
            return Err(StoreError::Exists { turn });
        }
        if self.fails_if_busy && self.is_under_way(unfinished).await? {
            return Err(StoreError::Busy {
                turn: unfinished.key.turn.clone(),
                generation: unfinished.generation,
                owner: unfinished.owner.clone(),
            });
        }
        let history = take_over(self, unfinished, now).await?;
        Ok((unfinished.key.turn.clone(), history))
    }

    /// Returns whether another host drives a turn. An unfinished turn of this host is not driven: this process would have
    /// found it under way.
    async fn is_under_way(&self, turn: &Unfinished) -> Result<bool, StoreError> {
        if turn.owner == self.stored.owner || turn.owner == RESTING {
            return Ok(false);
        }
        let store = &self.stored.store;
        let orphans = self.call(|| store.orphans()).await?;
        Ok(!orphans.iter().any(|orphan| orphan.key == turn.key))
    }
}
