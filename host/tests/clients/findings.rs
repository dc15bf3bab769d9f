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
    /// Each turn has ended, or waits for somebody who can be named.
    Ends,
    /// The log of a turn that has ended says so.
    EndIsTold,
    /// A result that was told stays.
    ResultStays,
    /// A result that is stored is told.
    ResultIsTold,
    /// A result is told as it is stored.
    ResultIsSame,
    /// Of a client's call one result is taken, once the call waits for it, and that is the one which is told.
    ResultIsTaken,
    /// Each request of a turn offers the client's tools, whoever goes on with it.
    ToolsStay,
    /// Text that was told stays.
    TextStays,
    /// Answers to the same question, of which the first was cut, are messages of their own.
    AnswersApart,
    /// An answer that its host's end has cut, and that another follows, says that it was.
    CutIsMarked,
    /// A call that was told stays.
    CallStays,
    /// How a call ended, once told, stays.
    StatusStays,
    /// How a call ended is shown as it was told.
    StatusIsView,
    /// A turn of a host that lives is taken only where a user asked for it.
    LiveTurnStays,
    /// A tool that is not idempotent begins once.
    BeginsOnce,
    /// A run that goes on after the user's approval tells what the tool gave.
    ApprovedIsTold,
    /// Whoever has followed has the log, event for event.
    LogStays,
    /// How far the user has read comes back with the thread.
    SeenComesBack,
    /// The log folds to what the thread shows.
    FoldIsView,
    /// The model is sent each call with its result.
    HistoryIsWhole,
    /// A stream says something now and then.
    StreamSpeaks,
    /// Who is refused makes a pause.
    Pauses,
    /// A host that is told to stop does.
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
