use super::{RunHandle, Stale, ThreadKey};
use crate::run::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What happened to the runs of a registry, in order.
///
/// Each [`RunStarted`](Self::RunStarted) is followed by exactly one [`RunCompleted`](Self::RunCompleted) of the same
/// generation, with any number of [`RunContinued`](Self::RunContinued) between them; each [`Unread`](Self::Unread) by
/// at most one [`Read`](Self::Read).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RegistryEvent {
    /// A run began: the turn is on.
    RunStarted {
        /// The run.
        handle: RunHandle,
    },
    /// A run goes on under a new handle. It is the same turn: nothing to show.
    RunContinued {
        /// The new handle. The one before it is stale.
        handle: RunHandle,
    },
    /// A run is over. One that was replaced or removed is over as [`Outcome::Cancelled`], before what replaced it
    /// starts.
    RunCompleted {
        /// The run, as it last was.
        handle: RunHandle,
        /// How it ended.
        outcome: Outcome,
    },
    /// A run ended in a thread that the user does not look at.
    Unread {
        /// The thread.
        key: ThreadKey,
    },
    /// The user looks at the thread that was unread, or it was removed.
    Read {
        /// The thread.
        key: ThreadKey,
    },
    /// Something came with a stale handle. It changed nothing.
    StaleInput(Stale),
    /// A run could not be disposed of. What replaced it stands.
    DisposalFailed {
        /// The run.
        handle: RunHandle,
        /// The host's words.
        message: String,
    },
    /// The host took no events for so long that the oldest were dropped ([`MAX_EVENTS`]). Look at
    /// [`RunRegistry::running`](super::RunRegistry::running) and
    /// [`RunRegistry::unread_threads`](super::RunRegistry::unread_threads) for how things stand.
    Missed {
        /// How many.
        count: u64,
    },
}

/// So many events wait for the host at most.
pub const MAX_EVENTS: usize = 1024;

/// The events that wait for the host: the latest [`MAX_EVENTS`], and how many were dropped before them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EventQueue {
    missed: u64,
    events: VecDeque<RegistryEvent>,
}

impl EventQueue {
    pub(super) fn push(&mut self, event: RegistryEvent) {
        self.events.push_back(event);
        self.trim();
    }

    /// Drops what is too much: also what a stored registry brings.
    pub(super) fn trim(&mut self) {
        while self.events.len() > MAX_EVENTS {
            self.events.pop_front();
            self.missed = self.missed.saturating_add(1);
        }
    }

    pub(super) fn pop(&mut self) -> Option<RegistryEvent> {
        match std::mem::take(&mut self.missed) {
            0 => self.events.pop_front(),
            count => Some(RegistryEvent::Missed { count }),
        }
    }
}
