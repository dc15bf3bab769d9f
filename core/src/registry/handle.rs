use super::ThreadKey;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A run of a thread, and a hop of the run. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunVersion {
    /// The run: from 1, never given twice by one registry, whatever the thread.
    pub generation: u64,
    /// The number of times that the run was continued, from 0. A run that has used all hops continues in a new generation.
    pub hop: u32,
}

/// Formats the version for logs: `generation.hop`.
impl fmt::Display for RunVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.generation, self.hop)
    }
}

/// The owner of an input: one hop of one run of one thread.
///
/// Only a [`RunRegistry`](super::RunRegistry) makes handles. A handle may be stored and read again; the registry checks
/// whether it is still valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunHandle {
    key: ThreadKey,
    generation: u64,
    hop: u32,
}

impl RunHandle {
    pub(super) fn new(key: ThreadKey, version: RunVersion) -> Self {
        let RunVersion { generation, hop } = version;
        Self {
            key,
            generation,
            hop,
        }
    }

    /// The thread of the run.
    #[must_use]
    pub fn key(&self) -> &ThreadKey {
        &self.key
    }

    /// The run: from 1, never given twice by one registry, whatever the thread.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The number of times that the run was continued, from 0.
    #[must_use]
    pub fn hop(&self) -> u32 {
        self.hop
    }

    /// The generation and the hop.
    #[must_use]
    pub fn version(&self) -> RunVersion {
        RunVersion {
            generation: self.generation,
            hop: self.hop,
        }
    }
}

/// Formats the handle for logs: `thread#generation.hop`.
impl fmt::Display for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.key, self.version())
    }
}

/// The error of a handle whose run or hop no longer owns its thread. Nothing was changed.
///
/// Drop the input that came with the handle. If the run is the host's own, stop it: another run has taken the thread over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the run {given} is stale: {}; drop what came for it", owner(*.current))]
#[non_exhaustive]
pub struct Stale {
    /// The stale handle.
    pub given: RunHandle,
    /// The owner of the thread now; `None` if nothing runs there.
    pub current: Option<RunVersion>,
}

fn owner(current: Option<RunVersion>) -> String {
    current.map_or_else(
        || "nothing runs in its thread".to_owned(),
        |version| format!("{version} owns its thread"),
    )
}

impl Stale {
    pub(super) fn trace(&self) {
        let current = owner(self.current);
        tracing::debug!(target: "stepwell", handle = %self.given, current, "stale handle: input dropped");
    }
}
