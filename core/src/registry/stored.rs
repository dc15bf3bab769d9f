use super::event::EventQueue;
use super::{RunHandle, RunRegistry, RunVersion, ThreadKey};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A registry as it is stored: a list of handles, since JSON has no maps with structs as keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    last_generation: u64,
    runs: Vec<RunHandle>,
    unread: BTreeSet<ThreadKey>,
    looked_at: Option<ThreadKey>,
    #[serde(default)]
    events: EventQueue,
}

/// The highest generation that is read: every language's numbers hold it, and as many again are left and more.
const MAX_GENERATION: u64 = 1 << 53;

/// Why a stored registry is refused: it would break the rules that the registry keeps.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoredError {
    #[error(
        "a stored registry with the last generation {0}, which is more than {MAX_GENERATION}: it is damaged"
    )]
    TooManyGenerations(u64),
    #[error(
        "a stored registry whose run {run} is not of a generation from 1 to {last_generation}: it is damaged"
    )]
    UnknownGeneration {
        run: RunHandle,
        last_generation: u64,
    },
    #[error("a stored registry with two runs of generation {0}: it is damaged")]
    SameGeneration(u64),
    #[error("a stored registry with two runs in the thread {0}: it is damaged")]
    TwoOwners(ThreadKey),
    #[error("a stored registry in which {0} is looked at and unread: it is damaged")]
    LookedAtUnread(ThreadKey),
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
        let Stored {
            last_generation,
            runs,
            unread,
            looked_at,
            mut events,
        } = stored;
        if last_generation > MAX_GENERATION {
            return Err(StoredError::TooManyGenerations(last_generation));
        }
        events.trim();
        if let Some(key) = looked_at.as_ref().filter(|key| unread.contains(*key)) {
            return Err(StoredError::LookedAtUnread(key.clone()));
        }
        Ok(Self {
            last_generation,
            runs: owners(runs, last_generation)?,
            unread,
            looked_at,
            events,
        })
    }
}

fn owners(
    runs: Vec<RunHandle>,
    last_generation: u64,
) -> Result<BTreeMap<ThreadKey, RunVersion>, StoredError> {
    let mut owners = BTreeMap::new();
    let mut generations = BTreeSet::new();
    for run in runs {
        let generation = run.generation();
        if !(1..=last_generation).contains(&generation) {
            return Err(StoredError::UnknownGeneration {
                run,
                last_generation,
            });
        }
        if !generations.insert(generation) {
            return Err(StoredError::SameGeneration(generation));
        }
        if owners.insert(run.key().clone(), run.version()).is_some() {
            return Err(StoredError::TwoOwners(run.key().clone()));
        }
    }
    Ok(owners)
}
