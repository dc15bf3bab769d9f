use std::cell::Cell;

/// Wrong behaviours that can be seeded into the real code, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A retry does not count: the next try has the number of the last.
    RetryNeverCounts,
    /// An answer to an effect that is no longer pending is taken silently.
    LateAnswerTaken,
    /// A second result for a call replaces the first.
    SecondResultWins,
    /// Nothing waits for the store.
    StoreNotAwaited,
    /// The user's decision is not recorded.
    ApprovalNotRecorded,
    /// What the user answers to an agent is not recorded.
    AnswersNotRecorded,
    /// A tool that asks for approval runs without it.
    ApprovalSkipped,
    /// After a crash every tool that had begun runs again.
    ToolRunsAgainOnRevive,
    /// After a crash the write that carried the snapshot does not count as stored.
    WriteForgottenOnRevive,
    /// After a crash the request that was on its way is not sent again.
    RequestForgottenOnRevive,
    /// The timer of a tool that is done runs on.
    ToolTimerLeftBehind,
    /// A write that failed is not given to the host again.
    FailedWriteNotGivenAgain,
    /// A write that failed counts as stored.
    FailedWriteCountsAsStored,
    /// The end of a turn leaves what waits for the store in place.
    EndLeavesHeldEffects,
    /// A tool that is withdrawn is not told to stop.
    ToolNotToldToStop,
    /// A stream that was silent for too long is not closed.
    SilentStreamNotClosed,
    /// The first two calls exchange their results.
    ResultsExchanged,
    /// The end of a turn leaves open calls without results.
    CallsLeftWithoutResult,
    /// One more round of tools than the limit.
    HopLimitOffByOne,
    /// A restored run has lost its timers.
    TimersLostAtRestore,
    /// The turn's clock runs on while the user is asked.
    TurnClockNotPaused,
    /// What a write failed to store for good is not written at the end.
    BlocksLostOnFailure,
    /// The last call of a round, when denied, does not let the turn go on.
    StuckAfterDenial,
    /// A stream that was cut off counts as finished.
    TruncatedIsFinished,
}

impl Fault {
    /// Each of them.
    pub const ALL: &[Self] = &[
        Self::RetryNeverCounts,
        Self::LateAnswerTaken,
        Self::SecondResultWins,
        Self::StoreNotAwaited,
        Self::ApprovalNotRecorded,
        Self::AnswersNotRecorded,
        Self::ApprovalSkipped,
        Self::ToolRunsAgainOnRevive,
        Self::WriteForgottenOnRevive,
        Self::RequestForgottenOnRevive,
        Self::ToolTimerLeftBehind,
        Self::FailedWriteNotGivenAgain,
        Self::FailedWriteCountsAsStored,
        Self::EndLeavesHeldEffects,
        Self::ToolNotToldToStop,
        Self::SilentStreamNotClosed,
        Self::ResultsExchanged,
        Self::CallsLeftWithoutResult,
        Self::HopLimitOffByOne,
        Self::TimersLostAtRestore,
        Self::TurnClockNotPaused,
        Self::BlocksLostOnFailure,
        Self::StuckAfterDenial,
        Self::TruncatedIsFinished,
    ];
}

thread_local! {
    static SEEDED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Seeds one fault, or none, for this thread's runs.
pub fn seed(fault: Option<Fault>) {
    SEEDED.set(fault);
}

/// Whether this fault is seeded.
#[must_use]
pub fn is_seeded(fault: Fault) -> bool {
    SEEDED.get() == Some(fault)
}
