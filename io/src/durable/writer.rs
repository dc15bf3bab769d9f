//! Carries out the writes of a turn.

use super::patience::{Notices, Patience, in_time};
use super::{StoreSetup, StoredTurn};
use crate::clock::Clock;
use crate::store::PersistBatch;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use stepwell_core::run::{Effect, EffectId, Input};
use tokio_util::sync::CancellationToken;

/// The right to write a turn.
#[derive(Debug)]
pub(crate) struct Writer {
    setup: StoreSetup,
    turn: StoredTurn,
    patience: Patience,
    clock: Clock,
    notices: Notices,
    /// Stops the turn.
    cancel: CancellationToken,
    /// How often the write under way has failed for now.
    failures: AtomicU32,
    /// The turn is another host's: nothing is written any more.
    is_lost: AtomicBool,
}

impl Writer {
    pub(crate) fn new(
        setup: StoreSetup,
        turn: StoredTurn,
        patience: Patience,
        clock: Clock,
        notices: Notices,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            setup,
            turn,
            patience,
            clock,
            notices,
            cancel,
            failures: AtomicU32::new(0),
            is_lost: AtomicBool::new(false),
        }
    }

    pub(crate) fn turn(&self) -> &StoredTurn {
        &self.turn
    }

    /// Carries out a write, after a pause if it has failed before. The machine gives it out again as often as its
    /// configuration says.
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
                snapshot,
                ..
            },
        ) = (id, effect)
        else {
            return failed("this is no write".to_owned());
        };
        if self.is_lost.load(Ordering::Relaxed) {
            return failed("another host goes on with the turn, or it was deleted".to_owned());
        }
        let pause = self.patience.pause(self.failures.load(Ordering::Relaxed));
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let batch = PersistBatch {
            first: sequence,
            blocks,
            status,
            outcome,
            snapshot,
            at: self.clock.now(),
        };
        let (store, turn) = (&self.setup.store, &self.turn);
        let stored = in_time(store.persist(&turn.key, turn.generation, &batch)).await;
        let Err(error) = stored else {
            self.failures.store(0, Ordering::Relaxed);
            return Input::Persisted { effect: id };
        };
        if error.is_lost() {
            self.is_lost.store(true, Ordering::Relaxed);
            self.notices.warn(format!("the turn stops here: {error}"));
            self.cancel.cancel();
        } else if error.is_transient() {
            let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
            self.notices.waiting(&error, self.patience.pause(failures));
        }
        failed(error.to_string())
    }
}
