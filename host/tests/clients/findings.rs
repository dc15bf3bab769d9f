//! What does not hold.

/// A rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// Each command is answered.
    Answered,
    /// An answer is one of those that the page of the interface has.
    AnswerFits,
    /// A turn whose stop was answered with 204 has ended.
    StopStops,
    /// Each turn has ended, or waits for a known user or client.
    Ends,
    /// The log of a turn that has ended has its end.
    EndIsTold,
    /// A reported result stays.
    ResultStays,
    /// A stored result is reported.
    ResultIsTold,
    /// A result is reported as it is stored.
    ResultIsSame,
    /// One result of a client's call is accepted, once the call waits for it, and that result is reported.
    ResultIsTaken,
    /// Each request of a turn offers the client's tools, whichever host drives it.
    ToolsStay,
    /// Reported text stays.
    TextStays,
    /// Answers to the same question, of which the first was cut, are messages of their own.
    AnswersApart,
    /// An answer that is cut by its host's end, and that another follows, is marked as cut.
    CutIsMarked,
    /// A reported call stays.
    CallStays,
    /// The reported end of a call stays.
    StatusStays,
    /// The end of a call is shown as it was reported.
    StatusIsView,
    /// A turn of a host that lives is taken only where a user asked for it.
    LiveTurnStays,
    /// A tool that is not idempotent begins once.
    BeginsOnce,
    /// A run that continues after the user's approval reports the tool's result.
    ApprovedIsTold,
    /// A client that has followed has the log, event for event.
    LogStays,
    /// The user's place in the log is returned with the thread.
    SeenComesBack,
    /// The log folds to what the thread shows.
    FoldIsView,
    /// The model is sent each call with its result.
    HistoryIsWhole,
    /// A stream sends something now and then.
    StreamSpeaks,
    /// A refused client makes a pause.
    Pauses,
    /// A host that is asked to stop stops.
    HostStops,
}

/// One broken rule.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    /// The turn that it is about, or the host; empty if it is about none.
    pub(crate) turn: String,
    pub(crate) what: String,
}
