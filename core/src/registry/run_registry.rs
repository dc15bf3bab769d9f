use super::event::EventQueue;
use super::stored::{Stored, StoredError};
use super::{RegistryEvent, RunHandle, RunVersion, Stale, ThreadKey};
use crate::run::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The owner of each thread, the thread that the user looks at, and the unread threads. It is data only.
///
/// # The rules
/// 1. A thread has at most one owner: [`register`](Self::register) takes the thread over from any run,
///    [`replace`](Self::replace) only from the handle that it names.
/// 2. A stale handle changes nothing; [`Stale`] and [`RegistryEvent::StaleInput`] report it.
/// 3. Only [`look_at`](Self::look_at) changes the thread that the user looks at. A run that ends in another thread marks
///    that thread as unread at its end.
/// 4. Runs of different threads do not affect each other.
///
/// The host checks a handle before it feeds the run, and takes the events after each call. If several threads of the
/// program share a registry, a run may become stale after the check: check again before carrying out its outputs.
///
/// # Memory
/// Generations come from one counter for all threads. So the registry remembers nothing of a thread without a run and
/// without unread messages, and still uses no generation twice, neither after [`remove`](Self::remove) nor after the
/// registry was stored and read. (A host that reads an older copy than the one of its last handles loses this guarantee: it
/// must [`register`](Self::register) its runs again.) At most [`MAX_EVENTS`](super::MAX_EVENTS) events wait.
///
/// # Storing
/// The registry implements serde, for any format with sequences and structs. Reading refuses data that no registry can have
/// written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct RunRegistry {
    last_generation: u64,
    runs: BTreeMap<ThreadKey, RunVersion>,
    unread: BTreeSet<ThreadKey>,
    pub(super) looked_at: Option<ThreadKey>,
    pub(super) events: EventQueue,
}

/// The result of [`RunRegistry::register`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a run that was replaced is to be cancelled and disposed of"]
pub struct Registered {
    /// The new run's handle.
    pub handle: RunHandle,
    /// The stale run that owned the thread before: cancel it and dispose of it.
    pub replaced: Option<RunHandle>,
}

impl RunRegistry {
    /// Creates a registry without runs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a new run, which takes the thread over from any run there.
    pub fn register(&mut self, key: ThreadKey) -> Registered {
        let version = RunVersion {
            generation: self.next_generation(),
            hop: 0,
        };
        let replaced = self.runs.insert(key.clone(), version);
        let replaced = replaced.map(|version| self.cancelled(&key, version));
        let handle = RunHandle::new(key, version);
        self.events.push(RegistryEvent::RunStarted {
            handle: handle.clone(),
        });
        Registered { handle, replaced }
    }

    /// Replaces the run's handle, with the hop raised, if `old` still owns the thread.
    ///
    /// The new handle is in place when this returns: dispose of the old one's resources afterwards, and call
    /// [`disposal_failed`](Self::disposal_failed) if that fails. For the user the turn stays the same:
    /// [`RegistryEvent::RunContinued`], never `RunStarted`.
    ///
    /// # Errors
    /// Another handle owns the thread, or none does; nothing was changed.
    pub fn replace(&mut self, old: &RunHandle) -> Result<RunHandle, Stale> {
        self.replace_quietly(old).inspect_err(Stale::trace)
    }

    /// Checks that an input with this handle may be fed to its run.
    ///
    /// # Errors
    /// The handle is stale: drop the input.
    pub fn check(&mut self, handle: &RunHandle) -> Result<(), Stale> {
        self.check_quietly(handle).inspect_err(Stale::trace)
    }

    /// The run is over; its handle is stale from here on. Marks its thread unread if the user does not look at it.
    ///
    /// # Errors
    /// The run had lost its thread before; nothing was changed.
    pub fn complete(&mut self, handle: &RunHandle, outcome: Outcome) -> Result<(), Stale> {
        self.complete_quietly(handle, outcome)
            .inspect_err(Stale::trace)
    }

    /// Reports that the host could not dispose of a run. Nothing is undone; the failure is traced, and reported as an
    /// event.
    pub fn disposal_failed(&mut self, handle: &RunHandle, message: &str) {
        self.disposal_failed_quietly(handle, message);
        trace_disposal(handle, message);
    }

    /// The run that owns the thread.
    #[must_use]
    pub fn current(&self, key: &ThreadKey) -> Option<RunHandle> {
        let version = self.runs.get(key)?;
        Some(RunHandle::new(key.clone(), *version))
    }

    /// All runs that own a thread, in the order of their threads' keys.
    pub fn running(&self) -> impl Iterator<Item = RunHandle> {
        let run = |(key, version): (&ThreadKey, &RunVersion)| RunHandle::new(key.clone(), *version);
        self.runs.iter().map(run)
    }

    /// The user looks at this thread now, or at none. It is no longer unread.
    pub fn look_at(&mut self, key: Option<ThreadKey>) {
        if let Some(key) = &key {
            self.mark_read(key);
        }
        self.looked_at = key;
    }

    /// The thread that the user looks at.
    #[must_use]
    pub fn looked_at(&self) -> Option<&ThreadKey> {
        self.looked_at.as_ref()
    }

    /// Returns whether a run has ended in the thread since the user last looked at it.
    #[must_use]
    pub fn unread(&self, key: &ThreadKey) -> bool {
        self.unread.contains(key)
    }

    /// All unread threads, in the order of their keys.
    pub fn unread_threads(&self) -> impl Iterator<Item = &ThreadKey> {
        self.unread.iter()
    }

    /// Forgets the thread. A run that owned it is now stale, and given back: cancel it and dispose of it.
    pub fn remove(&mut self, key: &ThreadKey) -> Option<RunHandle> {
        let run = self.runs.remove(key);
        let run = run.map(|version| self.cancelled(key, version));
        self.mark_read(key);
        run
    }

    /// Takes the next event. Call this until it returns `None`, after every call.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<RegistryEvent> {
        self.events.pop()
    }

    fn next_generation(&mut self) -> u64 {
        self.last_generation += 1;
        self.last_generation
    }

    fn cancelled(&mut self, key: &ThreadKey, version: RunVersion) -> RunHandle {
        let handle = RunHandle::new(key.clone(), version);
        self.events.push(RegistryEvent::RunCompleted {
            handle: handle.clone(),
            outcome: Outcome::Cancelled,
        });
        handle
    }

    fn mark_read(&mut self, key: &ThreadKey) {
        if let Some(key) = self.unread.take(key) {
            self.events.push(RegistryEvent::Read { key });
        }
    }
}

/// The same without a trace: a subscriber is foreign code, and [`SharedRegistry`](super::SharedRegistry) calls none
/// under its lock.
impl RunRegistry {
    pub(super) fn check_quietly(&mut self, handle: &RunHandle) -> Result<(), Stale> {
        let current = self.runs.get(handle.key()).copied();
        if current == Some(handle.version()) {
            return Ok(());
        }
        let stale = Stale {
            given: handle.clone(),
            current,
        };
        self.events.push(RegistryEvent::StaleInput(stale.clone()));
        Err(stale)
    }

    pub(super) fn replace_quietly(&mut self, old: &RunHandle) -> Result<RunHandle, Stale> {
        self.check_quietly(old)?;
        let version = match old.hop().checked_add(1) {
            Some(hop) => RunVersion {
                generation: old.generation(),
                hop,
            },
            // The hop counter is at its maximum: a new generation keeps the old handle from becoming valid again.
            None => RunVersion {
                generation: self.next_generation(),
                hop: old.hop(),
            },
        };
        self.runs.insert(old.key().clone(), version);
        let handle = RunHandle::new(old.key().clone(), version);
        self.events.push(RegistryEvent::RunContinued {
            handle: handle.clone(),
        });
        Ok(handle)
    }

    pub(super) fn complete_quietly(
        &mut self,
        handle: &RunHandle,
        outcome: Outcome,
    ) -> Result<(), Stale> {
        self.check_quietly(handle)?;
        let key = handle.key();
        self.runs.remove(key);
        self.events.push(RegistryEvent::RunCompleted {
            handle: handle.clone(),
            outcome,
        });
        if self.looked_at.as_ref() != Some(key) && self.unread.insert(key.clone()) {
            self.events.push(RegistryEvent::Unread { key: key.clone() });
        }
        Ok(())
    }

    pub(super) fn disposal_failed_quietly(&mut self, handle: &RunHandle, message: &str) {
        self.events.push(RegistryEvent::DisposalFailed {
            handle: handle.clone(),
            message: message.to_owned(),
        });
    }
}

pub(super) fn trace_disposal(handle: &RunHandle, message: &str) {
    tracing::warn!(target: "stepwell", %handle, message, "a run could not be disposed of");
}

impl From<RunRegistry> for Stored {
    fn from(registry: RunRegistry) -> Self {
        Self {
            last_generation: registry.last_generation,
            runs: registry
                .runs
                .into_iter()
                .map(|(key, version)| RunHandle::new(key, version))
                .collect(),
            unread: registry.unread,
            looked_at: registry.looked_at,
            events: registry.events,
        }
    }
}

impl TryFrom<Stored> for RunRegistry {
    type Error = StoredError;

    fn try_from(stored: Stored) -> Result<Self, StoredError> {
        let runs = stored.owners()?;
        let mut events = stored.events;
        events.trim();
        Ok(Self {
            last_generation: stored.last_generation,
            runs,
            unread: stored.unread,
            looked_at: stored.looked_at,
            events,
        })
    }
}
