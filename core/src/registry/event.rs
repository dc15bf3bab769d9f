use super::{RunHandle, Stale, ThreadKey};
use crate::run::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The events of a registry's runs, in order.
///
/// Each [`RunStarted`](Self::RunStarted) is followed by exactly one [`RunCompleted`](Self::RunCompleted) of the same
/// generation, with any number of [`RunContinued`](Self::RunContinued) between them; each [`Unread`](Self::Unread) by
/// at most one [`Read`](Self::Read).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RegistryEvent {
    /// A run began, and with it the turn.
    RunStarted {
        /// The run.
        handle: RunHandle,
    },
    /// A run continues under a new handle. The turn is the same, so there is nothing to show.
    RunContinued {
        /// The new handle. The handle before is stale.
        handle: RunHandle,
    },
    /// A run ended. A run that was replaced or removed ends as [`Outcome::Cancelled`], before its replacement starts.
    RunCompleted {
        /// The last handle of the run.
        handle: RunHandle,
        /// The outcome.
        outcome: Outcome,
    },
    /// A run ended in a thread that the user is not looking at.
    Unread {
        /// The thread.
        key: ThreadKey,
    },
    /// The user looks at the unread thread, or the thread was removed.
    Read {
        /// The thread.
        key: ThreadKey,
    },
    /// An input arrived with a stale handle, and changed nothing.
    StaleInput(Stale),
    /// A run could not be disposed of. Its replacement is not affected.
    DisposalFailed {
        /// The run.
        handle: RunHandle,
        /// The host's error message.
        message: String,
    },
    /// The host took no events for too long, and the oldest were dropped ([`MAX_EVENTS`]). Read the present state from
    /// [`RunRegistry::running`](super::RunRegistry::running) and
    /// [`RunRegistry::unread_threads`](super::RunRegistry::unread_threads).
    Missed {
        /// The number of dropped events.
        count: u64,
    },
}

/// The maximum number of events that wait for the host.
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

    /// Drops the oldest events beyond the maximum, of a stored registry too.
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
