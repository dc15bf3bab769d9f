import StepwellBindings

/// What a tool's code has of its call, in a run that is given nothing.
public typealias ToolContext = ToolContextWith<Void>

/// What a tool's code has of its call: the run's dependencies, and the ways to report and to ask while it runs.
public struct ToolContextWith<Deps: Sendable>: Sendable {
    /// What the run was given as `deps`.
    public let deps: Deps
    let reports: FfiToolContext

    init(_ reports: FfiToolContext, deps: Deps) {
        self.reports = reports
        self.deps = deps
    }

    /// The call: its arguments, its id, the thread, the turn, the run and the attempt.
    public var invocation: ToolInvocation { reports.invocation() }

    /// Whether the result is no longer wanted: the call was cancelled, ran out of time, or is over.
    public var isCancelled: Bool { reports.isCancelled() }

    /// Reports the call's progress: from 0 to 1, if that is known, and what the call is doing. The event `.toolProgress` shows
    /// the progress. For an app that is too slow to show every report, only the last is shown.
    public func report(fraction: Double? = nil, message: String = "") {
        reports.report(fraction: fraction, message: message)
    }

    /// Shows a partial result, text or JSON as text, which replaces the previous one: the event `.toolPartialResult`. The
    /// model gets only the final result. A partial result of more than 256 KiB is not shown.
    public func partial(content: String) {
        reports.partial(content: content)
    }

    /// Asks the user, and waits for the answer, which fits the question's schema: that of the agent's `answerer`, or without
    /// one that of `Turn.answer` or `Conversation.answer`. In a `run` without an answerer, and when `Timeouts.approval` is
    /// over, the question is declined. The tool's own clock is paused meanwhile.
    ///
    /// An idempotent tool that is run again after a crash and asks the same question gets the earlier answer.
    ///
    /// - Throws: `StepwellError` where the question cannot be asked any more.
    public func ask(question: Question) async throws -> UserAnswer {
        try await reports.ask(question: question)
    }
}
