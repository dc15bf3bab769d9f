//! Which run owns which thread, for apps that drive many.

use crate::effect::json;
use crate::error::StepwellError;
use crate::outcome::Outcome;
use crate::thread_key::ThreadKey;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use stepwell_core::registry;
use stepwell_core::registry::SharedRegistry;

/// Many runs at once: which run owns which thread, what the user looks at, and what is unread. Data only: it starts
/// nothing and calls nobody back.
///
/// A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle
/// with whatever the run's network, tools and timers bring, and drop what comes with a stale one. Every call is one step
/// that no other call comes between, from any thread. Take the events after each call.
#[derive(Debug, uniffi::Object)]
pub struct RunRegistry {
    registry: SharedRegistry,
}

/// What an input belongs to: one hop of one run of one thread. Only a `RunRegistry` gives handles out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunHandle {
    /// The thread that the run is, or was, of.
    pub key: ThreadKey,
    /// The run: from 1, never given twice by one registry, whatever the thread.
    pub generation: u64,
    /// How often the run was continued, from 0.
    pub hop: u32,
}

/// What came of `RunRegistry.register`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
pub struct Registered {
    /// The new run's handle.
    pub handle: RunHandle,
    /// The run that owned the thread before, now stale: cancel it and dispose of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<RunHandle>,
}

/// What happened to the runs of a registry, in order.
#[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
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
    /// A run is over. One that was replaced or removed is over as cancelled, before what replaced it starts.
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
    StaleInput {
        /// The handle that came.
        given: RunHandle,
        /// What owns its thread now; absent if nothing runs there.
        #[serde(skip_serializing_if = "Option::is_none")]
        current: Option<RunHandle>,
    },
    /// A run could not be disposed of. What replaced it stands.
    DisposalFailed {
        /// The run.
        handle: RunHandle,
        /// The app's words.
        message: String,
    },
    /// The app took no events for so long that the oldest were dropped. `running` and `unread_threads` say how things
    /// stand.
    Missed {
        /// How many.
        count: u64,
    },
}

#[uniffi::export]
impl RunRegistry {
    /// A registry with no runs.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Self::of(SharedRegistry::default())
    }

    /// A registry that was stored: what `snapshot` gave.
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

    /// The registry as text, to be stored and given to `restore`.
    pub fn snapshot(&self) -> String {
        json(&self.registry.snapshot())
    }

    /// A new run takes the thread over, whatever ran there.
    pub fn register(&self, thread: ThreadKey) -> Registered {
        let registered = self.registry.register(thread.into());
        Registered {
            handle: registered.handle.into(),
            replaced: registered.replaced.map(Into::into),
        }
    }

    /// The run goes on under a new handle, with the hop raised, if `old` still owns the thread: compare-and-swap. Dispose
    /// of what the old one had afterwards.
    pub fn replace(&self, old: RunHandle) -> Result<RunHandle, StepwellError> {
        Ok(self.registry.replace(&old.into_core()?)?.into())
    }

    /// Whether what came with the handle may be given to its run; `Stale` if not.
    pub fn check(&self, handle: RunHandle) -> Result<(), StepwellError> {
        Ok(self.registry.check(&handle.into_core()?)?)
    }

    /// The run is over; its handle is stale from here on. Marks its thread unread if the user does not look at it.
    pub fn complete(&self, handle: RunHandle, outcome: Outcome) -> Result<(), StepwellError> {
        let handle = handle.into_core()?;
        Ok(self.registry.complete(&handle, outcome.into())?)
    }

    /// The app could not dispose of a run. That undoes nothing; it is said as an event.
    pub fn disposal_failed(&self, handle: RunHandle, message: &str) -> Result<(), StepwellError> {
        self.registry.disposal_failed(&handle.into_core()?, message);
        Ok(())
    }

    /// The run that owns the thread.
    pub fn current(&self, thread: ThreadKey) -> Option<RunHandle> {
        self.registry.current(&thread.into()).map(Into::into)
    }

    /// All runs that own a thread, in the order of their threads' keys.
    pub fn running(&self) -> Vec<RunHandle> {
        self.registry
            .running()
            .into_iter()
            .map(Into::into)
            .collect()
    }

    /// The user looks at this thread now, or at none. It is no longer unread.
    pub fn look_at(&self, thread: Option<ThreadKey>) {
        self.registry.look_at(thread.map(Into::into));
    }

    /// The thread that the user looks at.
    pub fn looked_at(&self) -> Option<ThreadKey> {
        self.registry.looked_at().map(Into::into)
    }

    /// Whether a run has ended in the thread since the user last looked at it.
    pub fn unread(&self, thread: ThreadKey) -> bool {
        self.registry.unread(&thread.into())
    }

    /// All unread threads, in the order of their keys.
    pub fn unread_threads(&self) -> Vec<ThreadKey> {
        let threads = self.registry.unread_threads().into_iter();
        threads.map(Into::into).collect()
    }

    /// Forgets the thread. A run that owned it is now stale, and given back: cancel it and dispose of it.
    pub fn remove(&self, thread: ThreadKey) -> Option<RunHandle> {
        self.registry.remove(&thread.into()).map(Into::into)
    }

    /// Takes the events that wait, in order: each goes to one caller.
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
    /// The core lets only its registry make handles; as data they may be stored and read again.
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
