//! How a turn begins: started, or revived from what an owner before has left.

use super::{BegunTurn, SessionTurn, TurnStart};
use crate::engine::{EngineError, Origin, Parent};
use crate::turn::brought::Brought;
use crate::turn::event_writer::{self, Written};
use crate::turn::{lost_end, session_state};
use stepwell_core::run::TurnOptions;
use stepwell_io::store::{Claimed, StoreError};
use stepwell_io::turn::{Start, StoredTurn, TurnEvents};
use stepwell_io::{Conversation, WhenBusy};

impl SessionTurn {
    /// Starts or revives the turn, and waits until it is stored. Returns `None` if it cannot be.
    pub(super) async fn begin(&self, begin: TurnStart) -> Result<Option<BegunTurn>, StoreError> {
        match begin {
            TurnStart::Started {
                origin,
                base,
                brought,
                whole_history,
                begun,
            } => {
                let laid_for = self.setup.elsewhere;
                let Some(made) = self.make(&brought, base.map(|base| *base), &origin, laid_for)
                else {
                    let _ = begun.send(Err(EngineError::Internal));
                    return Ok(None);
                };
                let turn = self.start(&made.conversation, origin, whole_history);
                let is_there = self.stands(&turn).await;
                let refused = match is_there || made.stored.is_laid() {
                    true => None,
                    false => Some(refusal(turn.handle().store_trouble().borrow().clone())),
                };
                let _ = begun.send(refused.map_or(Ok(()), |error| Err(error.into())));
                let begun = made.begun(turn, Written::default(), Vec::new(), brought.run);
                Ok(is_there.then_some(begun))
            }
            TurnStart::Revived(claimed) => self.revive(claimed).await,
        }
    }

    /// Revives the turn from what an earlier owner has left.
    async fn revive(&self, claimed: Claimed) -> Result<Option<BegunTurn>, StoreError> {
        let key = &self.key;
        let checkpoint = claimed.checkpoint.as_deref().unwrap_or_default();
        let before = Brought::of_checkpoint(checkpoint);
        let written = event_writer::read(&self.setup.store, key, &self.leave).await?;
        let has_run = before
            .run
            .as_ref()
            .is_none_or(|run| written.has_run(&run.id));
        let is_untold = written.next > 0 && !has_run;
        let continued = self.continued.as_ref().filter(|_| !is_untold);
        let given = before.given.clone();
        let (brought, base) = match continued {
            Some((continued, _)) => (
                Brought {
                    chosen_model: before.chosen_model,
                    ..continued.brought.clone()
                },
                continued.base.clone(),
            ),
            None => (before, None),
        };
        let path = self.setup.store.path(key).await?;
        let left = StoredTurn {
            key: key.clone(),
            generation: claimed.generation,
        };
        let nothing = Origin::History(Box::default());
        let made = self.make(&brought, base, &nothing, None);
        let revived = made.and_then(|made| {
            let shown = written.messages();
            let revived = made.agent.revive_claimed(left.clone(), checkpoint, &path, shown);
            let revived = revived.inspect_err(|error| {
                tracing::error!(target: "stepwell", turn = %key, %error, "a turn cannot be revived");
            });
            Some((revived.ok()?, made))
        });
        let Some((turn, made)) = revived else {
            tracing::error!(target: "stepwell", turn = %key, "a turn cannot go on, and ends");
            let is_cancelled = self.cancel.is_cancelled();
            let (shown, leave) = (written.messages(), self.leave.clone());
            lost_end::fail(&self.setup, left, is_cancelled, shown, leave).await?;
            return Ok(None);
        };
        if !self.stands(&turn).await {
            return Err(refusal(turn.handle().store_trouble().borrow().clone()));
        }
        if let Some(state) = made.state.as_ref().filter(|_| continued.is_none()) {
            session_state::catch_up(state, &written.events, &path);
        }
        let mut begun = made.begun(turn, written, path, brought.run);
        begun.is_untold = is_untold;
        begun.given = given;
        Ok(Some(begun))
    }

    /// Waits until the turn has begun, or has failed to. Returns whether it is stored.
    async fn stands(&self, turn: &TurnEvents) -> bool {
        let handle = turn.handle();
        tokio::select! {
            biased;
            () = handle.begun() => {}
            () = self.cancel.cancelled() => {
                // A caller that waits for the store waits no longer.
                turn.cancel();
                handle.begun().await;
            }
        }
        handle.stored().is_some()
    }

    fn start(
        &self,
        conversation: &Conversation,
        origin: Origin,
        whole_history: bool,
    ) -> TurnEvents {
        let (parent, message) = match origin {
            Origin::Stored(parent, message) => (Some(parent), message),
            Origin::History(_) => (None, None),
        };
        let start = Start {
            run_id: self.key.turn.clone(),
            message: message.map(|message| *message),
            resume: Vec::new(),
            parent_run_id: None,
            options: TurnOptions {
                whole_history,
                ..TurnOptions::default()
            },
        };
        // A client that sends while its turn is under way has moved on.
        let run = conversation.start(start).when_busy(WhenBusy::Cancel);
        let run = match parent {
            None => run.from_history(),
            Some(Parent::Latest) => run,
            Some(Parent::Root) => run.after(None),
            Some(Parent::Turn(parent)) => run.after(Some(parent)),
        };
        run.stream().into_events()
    }
}

fn refusal(error: Option<StoreError>) -> StoreError {
    error.unwrap_or_else(|| StoreError::Other {
        message: "the turn could not be stored".to_owned(),
    })
}
