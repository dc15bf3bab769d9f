use super::event::EventQueue;
use super::{RunHandle, RunVersion, ThreadKey};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A registry as it is stored: a list of handles, since JSON has no maps with structs as keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) last_generation: u64,
    pub(super) runs: Vec<RunHandle>,
    pub(super) unread: BTreeSet<ThreadKey>,
    pub(super) looked_at: Option<ThreadKey>,
    #[serde(default)]
    pub(super) events: EventQueue,
}

/// The highest generation that is read: every language's numbers hold it, and as many again are left and more.
const MAX_GENERATION: u64 = 1 << 53;

/// The reasons why a stored registry is refused: it would break the registry's rules.
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

impl Stored {
    /// Checks the rules that every registry keeps. Returns the runs by their threads.
    pub(super) fn owners(&self) -> Result<BTreeMap<ThreadKey, RunVersion>, StoredError> {
        if self.last_generation > MAX_GENERATION {
            return Err(StoredError::TooManyGenerations(self.last_generation));
        }
        if let Some(key) = self
            .looked_at
            .as_ref()
            .filter(|key| self.unread.contains(*key))
        {
            return Err(StoredError::LookedAtUnread(key.clone()));
        }
        owners(&self.runs, self.last_generation)
    }
}

fn owners(
    runs: &[RunHandle],
    last_generation: u64,
) -> Result<BTreeMap<ThreadKey, RunVersion>, StoredError> {
    let mut owners = BTreeMap::new();
    let mut generations = BTreeSet::new();
    for run in runs {
        let generation = run.generation();
        if !(1..=last_generation).contains(&generation) {
            return Err(StoredError::UnknownGeneration {
                run: run.clone(),
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
