//! The owners of threads, for apps that drive many runs.

use crate::effect::json;
use crate::error::StepwellError;
use crate::outcome::Outcome;
use crate::thread_key::ThreadKey;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use stepwell_core::registry;
use stepwell_core::registry::SharedRegistry;

/// The runs of an app: which run owns which thread, what the user looks at, and what is unread. Data only: the registry
/// starts nothing and makes no callbacks.
///
/// A thread has at most one owner. Registering a run takes the thread over and makes the previous handle stale: check
/// the handle of everything that the run's network, tools and timers bring, and drop what has a stale handle. Every
/// call is atomic, from any thread. Take the events after each call.
#[derive(Debug, uniffi::Object)]
pub struct RunRegistry {
    registry: SharedRegistry,
}

/// A handle that assigns an input to one hop of one run of one thread. Only a `RunRegistry` creates handles.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunHandle {
    /// The thread of the run.
    pub key: ThreadKey,
    /// The run: from 1, never used twice by one registry, for any thread.
    pub generation: u64,
    /// How often the run has continued, from 0.
    pub hop: u32,
}

/// The result of `RunRegistry.register`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
pub struct Registered {
    /// The new run's handle.
    pub handle: RunHandle,
    /// The run that owned the thread before, now stale: cancel and dispose of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<RunHandle>,
}

/// A change to the runs of a registry, in order.
#[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum RegistryEvent {
    /// A run began: the turn is under way.
    RunStarted {
        /// The run.
        handle: RunHandle,
    },
    /// A run continues under a new handle. The turn is the same: there is nothing to show.
    RunContinued {
        /// The new handle. The previous one is stale.
        handle: RunHandle,
    },
    /// A run is over. A run that was replaced or removed ends as cancelled, before its replacement starts.
    RunCompleted {
        /// The last handle of the run.
        handle: RunHandle,
        /// How the run ended.
        outcome: Outcome,
    },
    /// A run ended in a thread that the user does not look at.
    Unread {
        /// The thread.
        key: ThreadKey,
    },
    /// The user looks at the thread that was unread, or the thread was removed.
    Read {
        /// The thread.
        key: ThreadKey,
    },
    /// An input had a stale handle and changed nothing.
    StaleInput {
        /// The handle of the input.
        given: RunHandle,
        /// The current owner of the thread; absent if nothing runs there.
        #[serde(skip_serializing_if = "Option::is_none")]
        current: Option<RunHandle>,
    },
    /// A run could not be disposed of. Its replacement stays.
    DisposalFailed {
        /// The run.
        handle: RunHandle,
        /// The app's message.
        message: String,
    },
    /// The app did not take events for too long, and the oldest were dropped. `running` and `unread_threads` give the
    /// current state.
    Missed {
        /// The number of dropped events.
        count: u64,
    },
}

#[uniffi::export]
impl RunRegistry {
    /// Creates a registry with no runs.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Self::of(SharedRegistry::default())
    }

    /// Restores a registry from what `snapshot` returned.
    #[uniffi::constructor]
    pub fn restore(snapshot: &str) -> Result<Arc<Self>, StepwellError> {
        let registry: registry::RunRegistry =
            serde_json::from_str(snapshot).map_err(|error| StepwellError::Snapshot {
                reason: format!("this is no registry's snapshot: {error}"),
                advice:
                    "give the text just as `snapshot` returned it, or begin with a new registry"
                        .to_owned(),
            })?;
        Ok(Self::of(registry.into()))
    }

    /// Returns the registry as text, to be stored and passed to `restore`.
    pub fn snapshot(&self) -> String {
        json(&self.registry.snapshot())
    }

    /// Registers a new run, which takes the thread over from any other.
    pub fn register(&self, thread: ThreadKey) -> Registered {
        let registered = self.registry.register(thread.into());
        Registered {
            handle: registered.handle.into(),
            replaced: registered.replaced.map(Into::into),
        }
    }

    /// Continues the run under a new handle, with the hop raised, if `old` still owns the thread: compare-and-swap.
    /// Dispose of the old hop's resources afterwards.
    pub fn replace(&self, old: RunHandle) -> Result<RunHandle, StepwellError> {
        Ok(self.registry.replace(&old.into_core()?)?.into())
    }

    /// Checks that an input with the handle may be given to its run; fails with `Stale` if not.
    pub fn check(&self, handle: RunHandle) -> Result<(), StepwellError> {
        Ok(self.registry.check(&handle.into_core()?)?)
    }

    /// Completes the run, whose handle is stale from here on. Marks its thread unread if the user does not look at it.
    pub fn complete(&self, handle: RunHandle, outcome: Outcome) -> Result<(), StepwellError> {
        let handle = handle.into_core()?;
        Ok(self.registry.complete(&handle, outcome.into())?)
    }

    /// Reports that the app could not dispose of a run. Nothing is undone; an event reports the failure.
    pub fn disposal_failed(&self, handle: RunHandle, message: &str) -> Result<(), StepwellError> {
        self.registry.disposal_failed(&handle.into_core()?, message);
        Ok(())
    }

    /// Returns the run that owns the thread.
    pub fn current(&self, thread: ThreadKey) -> Option<RunHandle> {
        self.registry.current(&thread.into()).map(Into::into)
    }

    /// Returns all runs that own a thread, in the order of their threads' keys.
    pub fn running(&self) -> Vec<RunHandle> {
        self.registry
            .running()
            .into_iter()
            .map(Into::into)
            .collect()
    }

    /// Sets the thread that the user looks at now, or none. That thread is no longer unread.
    pub fn look_at(&self, thread: Option<ThreadKey>) {
        self.registry.look_at(thread.map(Into::into));
    }

    /// Returns the thread that the user looks at.
    pub fn looked_at(&self) -> Option<ThreadKey> {
        self.registry.looked_at().map(Into::into)
    }

    /// Returns whether a run has ended in the thread since the user last looked at it.
    pub fn unread(&self, thread: ThreadKey) -> bool {
        self.registry.unread(&thread.into())
    }

    /// Returns all unread threads, in the order of their keys.
    pub fn unread_threads(&self) -> Vec<ThreadKey> {
        let threads = self.registry.unread_threads().into_iter();
        threads.map(Into::into).collect()
    }

    /// Forgets the thread. A run that owned the thread is now stale, and is returned: cancel and dispose of it.
    pub fn remove(&self, thread: ThreadKey) -> Option<RunHandle> {
        self.registry.remove(&thread.into()).map(Into::into)
    }

    /// Takes the pending events, in order. Each event goes to one caller only.
    pub fn take_events(&self) -> Vec<RegistryEvent> {
        std::iter::from_fn(|| self.registry.poll_event())
            .map(Into::into)
            .collect()
    }
}

impl RunRegistry {
    pub(crate) fn of(registry: SharedRegistry) -> Arc<Self> {
        Arc::new(Self { registry })
    }

    #[cfg(feature = "agent")]
    pub(crate) fn shared(&self) -> SharedRegistry {
        self.registry.clone()
    }
}

impl RunHandle {
    /// The core lets only its registry make handles; as data, handles may be stored and read again.
    fn into_core(self) -> Result<registry::RunHandle, StepwellError> {
        let key = registry::ThreadKey::from(self.key);
        let handle =
            serde_json::json!({ "key": key, "generation": self.generation, "hop": self.hop });
        serde_json::from_value(handle).map_err(|error| {
            StepwellError::invalid(&error, "give a handle just as the registry gave it")
        })
    }
}

impl From<registry::RunHandle> for RunHandle {
    fn from(handle: registry::RunHandle) -> Self {
        Self {
            key: handle.key().clone().into(),
            generation: handle.generation(),
            hop: handle.hop(),
        }
    }
}

impl From<registry::Stale> for StepwellError {
    fn from(stale: registry::Stale) -> Self {
        Self::Stale {
            reason: stale.to_string(),
            advice: "if it is the app's own run, stop it".to_owned(),
        }
    }
}

impl From<registry::RegistryEvent> for RegistryEvent {
    fn from(event: registry::RegistryEvent) -> Self {
        use registry::RegistryEvent as Core;
        match event {
            Core::RunStarted { handle } => Self::RunStarted {
                handle: handle.into(),
            },
            Core::RunContinued { handle } => Self::RunContinued {
                handle: handle.into(),
            },
            Core::RunCompleted { handle, outcome } => Self::RunCompleted {
                handle: handle.into(),
                outcome: outcome.into(),
            },
            Core::Unread { key } => Self::Unread { key: key.into() },
            Core::Read { key } => Self::Read { key: key.into() },
            Core::StaleInput(stale) => {
                let key = ThreadKey::from(stale.given.key().clone());
                Self::StaleInput {
                    current: stale.current.map(|current| RunHandle {
                        key,
                        generation: current.generation,
                        hop: current.hop,
                    }),
                    given: stale.given.into(),
                }
            }
            Core::DisposalFailed { handle, message } => Self::DisposalFailed {
                handle: handle.into(),
                message,
            },
            Core::Missed { count } => Self::Missed { count },
        }
    }
}
