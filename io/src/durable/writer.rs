//! Carries out the writes of a turn.

use super::patience::{Notices, Patience, in_time};
use super::stored::{StoreSetup, StoredTurn};
use crate::base::Clock;
use crate::store::{Lease, PersistBatch, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use stepwell_core::run::{Effect, EffectId, Input};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What keeps a turn's writes waiting; nothing if nothing does.
pub(crate) type Trouble = watch::Sender<Option<StoreError>>;

/// The right to write a turn.
#[derive(Debug)]
pub(crate) struct Writer {
    setup: StoreSetup,
    turn: StoredTurn,
    /// The owner is alive while there is a writer.
    _lease: Option<Arc<Lease>>,
    patience: Patience,
    clock: Clock,
    notices: Notices,
    /// Stops the turn.
    cancel: CancellationToken,
    trouble: Trouble,
    /// Nobody waits for the store any more.
    given_up: CancellationToken,
    /// How often the write under way has failed for now.
    failures: AtomicU32,
    /// The turn is another host's: nothing is written any more.
    is_lost: AtomicBool,
}

impl Writer {
    pub(crate) fn new(
        (setup, lease): (StoreSetup, Option<Arc<Lease>>),
        turn: StoredTurn,
        patience: Patience,
        clock: Clock,
        notices: Notices,
        cancel: CancellationToken,
        trouble: Trouble,
    ) -> Self {
        Self {
            setup,
            turn,
            _lease: lease,
            patience,
            clock,
            notices,
            cancel,
            trouble,
            given_up: CancellationToken::new(),
            failures: AtomicU32::new(0),
            is_lost: AtomicBool::new(false),
        }
    }

    pub(crate) fn turn(&self) -> &StoredTurn {
        &self.turn
    }

    /// Cuts the pauses of writes short, those that come later too: a write that fails has failed.
    pub(crate) fn give_up(&self) {
        self.given_up.cancel();
    }

    /// Carries out a write, after a pause if it has failed before. The machine gives it out again as often as its
    /// configuration says; where writes wait for the store, it hears of no failure that may pass.
    pub(crate) async fn write(&self, id: EffectId, effect: Effect) -> Input<'static> {
        let failed = |message: String| Input::PersistFailed {
            effect: id,
            message,
        };
        let (
            EffectId::Persist { sequence },
            Effect::Persist {
                status,
                outcome,
                blocks,
                checkpoint,
                ..
            },
        ) = (id, effect)
        else {
            return failed("this is no write".to_owned());
        };
        if self.is_lost.load(Ordering::Relaxed) {
            return failed("another host goes on with the turn, or it was deleted".to_owned());
        }
        self.pause().await;
        let batch = PersistBatch {
            first: sequence,
            blocks,
            status,
            outcome,
            checkpoint,
            first_event: 0,
            events: Vec::new(),
            at: self.clock.now(),
        };
        let (store, turn) = (&self.setup.store, &self.turn);
        loop {
            let stored = in_time(store.persist(&turn.key, turn.generation, &batch)).await;
            let Err(error) = stored else {
                self.failures.store(0, Ordering::Relaxed);
                self.trouble
                    .send_if_modified(|trouble| trouble.take().is_some());
                return Input::Persisted { effect: id };
            };
            let message = error.to_string();
            if error.is_lost() {
                self.is_lost.store(true, Ordering::Relaxed);
                self.notices.warn(format!("the turn stops here: {error}"));
                self.cancel.cancel();
            } else if self.may_pass(&error) {
                let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                self.wait_for(error, failures);
                if self.setup.waits && !self.given_up.is_cancelled() {
                    self.pause().await;
                    continue;
                }
            }
            return failed(message);
        }
    }

    /// Whether the same write may do later. A store that can only be read may be written again one day: who waits
    /// however long it takes waits for that too.
    fn may_pass(&self, error: &StoreError) -> bool {
        error.is_transient() || (self.setup.waits && matches!(error, StoreError::ReadOnly { .. }))
    }

    /// Says that the turn waits: each time where the tries are counted, else at first.
    fn wait_for(&self, error: StoreError, failures: u32) {
        if !self.setup.waits || failures == 1 {
            self.notices.waiting(&error, self.patience.pause(failures));
        }
        self.trouble.send_if_modified(|trouble| {
            let is_new = trouble.as_ref() != Some(&error);
            *trouble = Some(error);
            is_new
        });
    }

    /// The pause after the failures so far.
    async fn pause(&self) {
        let pause = self.patience.pause(self.failures.load(Ordering::Relaxed));
        if !pause.is_zero() {
            tokio::select! {
                biased;
                () = self.given_up.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}
