//! One life of a host: from its start to the moment at which it is killed.

use super::clients::chance::Chance;
use super::trace::Trace;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// More calls of the store in one second are no work.
const MOST_CALLS: u32 = 2_000;

/// A process that may be killed. A killed task never returns from its next await, so that it has no further effect
/// outside; the tasks are dropped with the runtime.
#[derive(Debug)]
pub(super) struct Life {
    /// Which host, and how often it was started.
    pub(super) name: String,
    pub(super) chance: Chance,
    trace: Arc<Trace>,
    dead: CancellationToken,
    /// The moments until it is killed, if that is planned.
    left: Mutex<Option<u64>>,
    /// In which second it called the store last, and how often.
    called: Mutex<(u64, u32)>,
    /// The threads on which it was asked to begin a turn, or to stop one.
    asked: Mutex<BTreeSet<String>>,
}

impl Life {
    pub(super) fn new(name: String, chance: Chance, trace: Arc<Trace>) -> Self {
        Self {
            name,
            chance,
            trace,
            dead: CancellationToken::new(),
            left: Mutex::default(),
            called: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Plans a kill after this number of moments, or none.
    pub(super) fn plan(&self, moments: Option<u64>) {
        *self.left.lock().unwrap() = moments;
    }

    pub(super) fn kill(&self, what: &str) {
        if !self.dead.is_cancelled() {
            self.trace.note(format!("{} is gone: {what}", self.name));
            self.dead.cancel();
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.is_cancelled()
    }

    /// Comes back when it is dead.
    pub(super) async fn dies(&self) {
        self.dead.cancelled().await;
    }

    /// Comes back only while it lives.
    pub(super) async fn lives(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    /// A moment at which it may be killed, for what is part of it.
    pub(super) async fn moment(&self, what: &str) {
        self.passes(what);
        self.lives().await;
    }

    /// Passes a moment, for callers outside of it.
    pub(super) fn passes(&self, what: &str) {
        let is_last = {
            let mut left = self.left.lock().unwrap();
            match left.as_mut() {
                Some(0) => left.take().is_some(),
                Some(left) => {
                    *left -= 1;
                    false
                }
                None => false,
            }
        };
        if is_last {
            self.kill(what);
        }
    }

    /// Counts a call of the store. Returns `true` where there were too many in one second.
    pub(super) fn calls(&self, now: u64) -> bool {
        let mut called = self.called.lock().unwrap();
        match called.0 == now / 1000 {
            true => called.1 += 1,
            false => *called = (now / 1000, 1),
        }
        called.1 > MOST_CALLS
    }

    /// Somebody asks it to begin a turn of the thread, or to stop one.
    pub(super) fn is_asked_for(&self, thread: &str) {
        self.asked.lock().unwrap().insert(thread.to_owned());
    }

    pub(super) fn was_asked_for(&self, thread: &str) -> bool {
        self.asked.lock().unwrap().contains(thread)
    }
}
