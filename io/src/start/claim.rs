//! How a turn gets its thread: at once, after the turns before it, or not at all, because its message joined a turn that
//! is under way.

use super::begin::Begin;
use super::runner::Runner;
use super::when_busy::WhenBusy;
use crate::base::lock;
use crate::turn::current::CurrentTurn;
use crate::turn::finished::Finished;
use crate::turn::handle::steer_with;
use crate::turn::owner::Owner;
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::registry::RunHandle;
use stepwell_core::run::Outcome;

/// The thread of a turn.
pub(crate) struct Claim {
    pub(crate) owner: Owner,
    /// The turn that had the thread before.
    pub(crate) earlier: CurrentTurn,
}

/// What became of a turn that waited for its thread.
pub(crate) enum Arrival {
    /// It has the thread.
    Claimed(Claim),
    /// It never began: it was cancelled, or its message is answered in another turn, whose end this is.
    Over(Box<Finished>),
}

impl Runner {
    /// Takes the thread for a turn, if the thread is free or the turn may take it over.
    pub(crate) fn claim(
        &self,
        begin: &Begin,
        current: &CurrentTurn,
        takes_over: bool,
    ) -> Option<Claim> {
        // The order in which turns take the thread is the order in which they run.
        let mut slot = lock(&self.thread.current);
        if slot.is_under_way() && !takes_over {
            return None;
        }
        let handle = self.registered(begin, &slot);
        let registration = &self.thread.registration;
        let changed = Arc::clone(&registration.changed);
        let owner = Owner::new(registration.registry.clone(), handle, changed);
        let earlier = std::mem::replace(&mut *slot, current.clone());
        drop(slot);
        earlier.cancel.cancel();
        Some(Claim { owner, earlier })
    }

    /// Registers the turn. A stored turn continues under a new handle, unless another turn has taken its thread since.
    fn registered(&self, begin: &Begin, current: &CurrentTurn) -> RunHandle {
        let (registry, key) = (&self.thread.registration.registry, &self.thread.key);
        let is_stored = !matches!(begin, Begin::Start(..));
        let stored = (is_stored && current.ended.is_cancelled()).then(|| registry.current(key));
        stored
            .flatten()
            .and_then(|stored| registry.replace(&stored).ok())
            .unwrap_or_else(|| registry.register(key.clone()).handle)
    }

    /// Waits for the thread of a turn, behind the turns that wait for it already.
    pub(crate) async fn arrive(
        &self,
        begin: &Begin,
        current: &CurrentTurn,
        when_busy: WhenBusy,
    ) -> Arrival {
        if when_busy == WhenBusy::Steer
            && let Some(message) = begin.message()
            && let Some(end) = self.steer(message, current).await
        {
            return Arrival::Over(Box::new(end));
        }
        let cancelled = || Arrival::Over(Box::new(Finished::without_turn(Outcome::Cancelled)));
        let _place_in_line = tokio::select! {
            biased;
            () = current.cancel.cancelled() => return cancelled(),
            place = self.thread.line.lock() => place,
        };
        loop {
            if let Some(claim) = self.claim(begin, current, false) {
                return Arrival::Claimed(claim);
            }
            let ended = lock(&self.thread.current).ended.clone();
            tokio::select! {
                biased;
                () = current.cancel.cancelled() => return cancelled(),
                () = ended.cancelled() => {}
            }
        }
    }

    /// Sends the message to the turn that is under way, and waits for the end of that turn. Returns the end if the turn
    /// took the message in.
    async fn steer(&self, message: &Message, current: &CurrentTurn) -> Option<Finished> {
        let under_way = lock(&self.thread.current).clone();
        let commands = under_way.commands.as_ref()?.upgrade()?;
        let mut end = under_way.end.subscribe();
        steer_with(&commands, message.clone()).await.ok()?;
        // A turn that nobody else holds must not go on for this message alone.
        drop(commands);
        let id = message.id();
        tokio::select! {
            biased;
            () = current.cancel.cancelled() => return None,
            () = under_way.ended.cancelled() => {}
        }
        let finished = end.borrow_and_update().clone()?;
        let messages = finished.transcript.messages();
        let is_taken = messages.iter().any(|message| message.id() == id);
        is_taken.then(|| Finished::clone(&finished))
    }
}
