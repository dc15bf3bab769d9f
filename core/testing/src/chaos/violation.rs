//! Violations of a run's promises.

use std::fmt;

/// A promise that every run keeps, by its number in the design; `core/README.md` has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Invariant {
    /// A run ends, or waits for someone who was asked or for a time.
    EndsOrWaits,
    /// The end is the end, and is reported once.
    EndsOnce,
    /// Cutting the bytes differently changes nothing.
    CutsDoNotMatter,
    /// A run that is stored and restored is the same run.
    RestoreChangesNothing,
    /// Equal runs have equal futures.
    EqualRunsHaveEqualFutures,
    /// Blocks are numbered without a gap, and whatever depends on a block waits until it is stored.
    StoredBeforeUsed,
    /// No tool runs twice for one call.
    RunsToolsOnce,
    /// A call that the user denied, or that a hook refused, does not run.
    RefusalsHold,
    /// Histories and requests are valid for their provider.
    RequestsAreValid,
    /// The limits on rounds, calls and parallel tools are kept.
    KeepsLimits,
    /// Nothing begins after a cancel.
    CancelIsFinal,
    /// Nothing that was shown and stored is lost by a crash.
    LosesNothing,
    /// Every move between states is one of the table.
    MovesAreInTheTable,
    /// A mistake of the host changes nothing.
    MisuseChangesNothing,
    /// The deltas of a message add up to the message.
    DeltasAddUp,
    /// A message that the user sends during a turn is accepted or refused, once.
    SteeringIsAnswered,
}

/// A promise that a run broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub invariant: Invariant,
    /// The way in which it was broken.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.message)
    }
}

impl std::error::Error for Violation {}
