//! What the store has before a new turn.

use super::beginning::Beginning;
use super::take_over::take_over;
use crate::store::{RESTING, StoreError, TurnKey, Unfinished};
use stepwell_core::conversation::Conversation;
use stepwell_core::{RunId, Timestamp};

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

impl Beginning<'_> {
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
            if self.fails_if_busy && self.is_under_way(unfinished).await? {
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
}
