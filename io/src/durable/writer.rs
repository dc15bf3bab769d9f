//! Carries out the writes of a turn.

use super::retry::{StoreNotices, StoreRetry, in_time};
use super::stored::{StoreSetup, StoredTurn};
use crate::base::Clock;
use crate::store::{Lease, PersistBatch, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use stepwell_core::run::{Effect, EffectId, Input};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The error that keeps a turn's writes waiting; `None` while no write waits.
pub(crate) type StoreTrouble = watch::Sender<Option<StoreError>>;

/// The right to write a turn.
#[derive(Debug)]
pub(crate) struct Writer {
    setup: StoreSetup,
    turn: StoredTurn,
    /// Keeps the owner's lease.
    _lease: Option<Arc<Lease>>,
    retry: StoreRetry,
    clock: Clock,
    notices: StoreNotices,
    /// Cancels the turn.
    cancel: CancellationToken,
    trouble: StoreTrouble,
    /// The store is not waited for any more.
    given_up: CancellationToken,
    /// The number of failures of the present write.
    failures: AtomicU32,
    /// The turn belongs to another host: no write is carried out any more.
    is_lost: AtomicBool,
}

impl Writer {
    pub(crate) fn new(
        (setup, lease): (StoreSetup, Option<Arc<Lease>>),
        turn: StoredTurn,
        retry: StoreRetry,
        clock: Clock,
        notices: StoreNotices,
        cancel: CancellationToken,
        trouble: StoreTrouble,
    ) -> Self {
        Self {
            setup,
            turn,
            _lease: lease,
            retry,
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

    /// Returns whether another host continues the turn, or the turn was deleted.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Cuts the pauses of writes short, also those of later writes: a write that fails has failed.
    pub(crate) fn give_up(&self) {
        self.given_up.cancel();
    }

    /// Carries out a write, after a pause if it has failed before. The machine repeats a failed write as often as its
    /// configuration says. Where writes wait for the store, the machine sees no failure that may pass.
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
        if self.is_lost() {
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

    /// Returns whether the same write may succeed later. A read-only store may become writable: a turn that waits for
    /// its store waits for that too.
    fn may_pass(&self, error: &StoreError) -> bool {
        error.is_transient() || (self.setup.waits && matches!(error, StoreError::ReadOnly { .. }))
    }

    /// Reports that the turn waits: at each failure if the attempts are limited, else at the first.
    fn wait_for(&self, error: StoreError, failures: u32) {
        if !self.setup.waits || failures == 1 {
            self.notices.waiting(&error, self.retry.pause(failures));
        }
        self.trouble.send_if_modified(|trouble| {
            let is_new = trouble.as_ref() != Some(&error);
            *trouble = Some(error);
            is_new
        });
    }

    /// Pauses after the failures so far.
    async fn pause(&self) {
        let pause = self.retry.pause(self.failures.load(Ordering::Relaxed));
        if !pause.is_zero() {
            tokio::select! {
                biased;
                () = self.given_up.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}
