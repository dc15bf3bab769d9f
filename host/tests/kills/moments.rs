//! The moments of harm to a host: after steps that the turns have reached, or bytes that the clients have read.

use crate::clients::chance::Chance;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// The distance to the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    /// Steps of the turns that this process sees.
    Steps(u64),
    /// Bytes of the clients' streams.
    Bytes(u64),
    /// Questions and results that are about to be answered or brought, are, or were just now.
    Questions(u64),
}

impl Plan {
    /// Draws the moment of the next harm.
    pub(crate) fn drawn(chance: &Chance) -> Self {
        match chance.below(6) {
            0 => Self::Bytes(chance.below(60_000)),
            1 => Self::Questions(chance.below(12)),
            _ => Self::Steps(chance.below(400)),
        }
    }
}

/// The action at the moment.
type Then = Box<dyn FnOnce() + Send>;

/// Counts the moments. Clones count the same.
#[derive(Clone, Default)]
pub(crate) struct Moments(Arc<Mutex<Option<(Plan, Then)>>>);

impl Moments {
    /// Does this at that moment, and lets know that it is done.
    pub(crate) fn at(
        &self,
        plan: Plan,
        then: impl FnOnce() + Send + 'static,
    ) -> oneshot::Receiver<()> {
        let (sender, done) = oneshot::channel();
        let then = move || {
            then();
            let _ = sender.send(());
        };
        *self.0.lock().unwrap() = Some((plan, Box::new(then)));
        done
    }

    /// A turn has come one step further.
    pub(crate) fn step(&self) {
        self.pass(|plan| match plan {
            Plan::Steps(left) => left.checked_sub(1).map(Plan::Steps),
            other => Some(other),
        });
    }

    /// Notes that a client has read this number of bytes.
    pub(crate) fn bytes(&self, count: usize) {
        self.pass(|plan| match plan {
            Plan::Bytes(left) => left.checked_sub(count as u64).map(Plan::Bytes),
            other => Some(other),
        });
    }

    /// Something happens to a question, or to a result of a client's tool.
    pub(crate) fn question(&self) {
        self.step();
        self.pass(|plan| match plan {
            Plan::Questions(left) => left.checked_sub(1).map(Plan::Questions),
            other => Some(other),
        });
    }

    fn pass(&self, next: impl FnOnce(Plan) -> Option<Plan>) {
        let mut planned = self.0.lock().unwrap();
        let Some((plan, then)) = planned.take() else {
            return;
        };
        match next(plan) {
            Some(plan) => *planned = Some((plan, then)),
            None => {
                drop(planned);
                then();
            }
        }
    }
}
