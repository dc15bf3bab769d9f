import Foundation

extension Agent {
    /// Sends a message to the model when the sequence is iterated over, and returns the events until the turn is over;
    /// the last event is `.completed`.
    ///
    /// The parts follow the text, in order: what `image`, `audio`, `video`, `document` and `file` make, and texts
    /// between them. With parts, an empty text is left out.
    ///
    ///     for try await event in agent.send("What is this?", try image("shark.png")) { … }
    ///
    /// The sequence is one turn: iterating over it again throws, and sends nothing. Cancelling the task cancels the
    /// turn, and so does leaving the loop. If another turn of the thread is under way, the turn fails at once as
    /// `.busy`, unless `whenBusy` is `.cancel`. `options` override the agent's options for this turn, and `tools` are
    /// offered in addition to the agent's.
    public func send(
        _ text: String,
        _ parts: ContentPart...,
        options: TurnOptions = TurnOptions(),
        tools: [AgentTool] = []
    ) -> TurnEvents {
        TurnEvents { try self.startTurn(text: text, options: options, tools: tools, parts: parts) }
    }

    /// Sends a message to the model, as `send` does, and waits for its complete answer. Cancelling the task cancels the
    /// turn.
    ///
    /// `startTurn(text:).finish()` returns the turn however it ended. Questions of an AG-UI agent are not shown to the
    /// user meanwhile: the agent is informed that there is no answer, and if it asks again, the turn is cancelled.
    /// `send` shows them.
    ///
    /// - Throws: `TurnError` where the answer is not complete: its `kind` says why, and its cases do, as `.Authentication`.
    ///   `CancellationError` where the task was cancelled; a turn that `Turn.cancel` stopped is a `TurnError.Stopped`.
    public func sendAndWait(
        _ text: String,
        _ parts: ContentPart...,
        options: TurnOptions = TurnOptions(),
        tools: [AgentTool] = []
    ) async throws -> Finished {
        try await whole(startTurn(text: text, options: options, tools: tools, parts: parts))
    }

    /// Waits for the complete answer of a turn.
    func whole(_ begin: @autoclosure () throws -> Turn) async throws -> Finished {
        // A task that is cancelled already sends nothing.
        try Task.checkCancellation()
        let turn = try begin()
        let finished = try await withTaskCancellationHandler {
            try await turn.finish()
        } onCancel: {
            turn.cancel()
        }
        if case .cancelled = finished.outcome { try Task.checkCancellation() }
        return try requireWhole(finished: finished)
    }
}

extension ContextOverflow {
    /// The newest messages that fill no more than this part of the room, for `Trimmed.keep`: half of it leaves room to
    /// continue for a while.
    public func newest(_ part: Double) -> [String] {
        newestMessages(overflow: self, part: part)
    }
}

extension Outcome {
    /// What kept the turn from a complete answer; nil if the answer is complete.
    public var problem: Problem? { problemOf(outcome: self) }
}

extension Event {
    /// The event as JSON: one of AG-UI in AG-UI's form, with its `type` in capitals.
    public func toJson() -> JsonValue { eventToJson(event: self) }
}

extension Turn {
    /// The further events of a turn that is under way, such as those of `Agent.recover`, to be iterated over once.
    /// Cancelling the task cancels the turn, and so does leaving the loop.
    public func events() -> TurnEvents {
        TurnEvents { self }
    }
}

/// The events of one turn, to be iterated over once: a second iteration throws `StepwellError.Misuse`, and sends nothing.
public struct TurnEvents: AsyncSequence, Sendable {
    public typealias Element = Event

    private let once: Once

    fileprivate init(_ begin: @escaping @Sendable () throws -> Turn) {
        once = Once(begin)
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(once)
    }

    /// Begins the turn with its first call, and cancels it when it is released.
    public final class AsyncIterator: AsyncIteratorProtocol {
        private let once: Once
        private var turn: Turn?
        private var ready: ArraySlice<Event> = []

        fileprivate init(_ once: Once) {
            self.once = once
        }

        deinit {
            turn?.cancel()
        }

        public func next() async throws -> Event? {
            if let event = ready.popFirst() {
                return event
            }
            let turn = try self.turn ?? once.begin()
            self.turn = turn
            // The generated code waits on when its task is cancelled, so the turn must be cancelled explicitly.
            let events = await withTaskCancellationHandler {
                await turn.nextBatch()
            } onCancel: {
                turn.cancel()
            }
            ready = events[...]
            return ready.popFirst()
        }
    }
}

/// Begins a turn, for the first iterator that asks.
private final class Once: @unchecked Sendable {
    /// Guards `make`.
    private let lock = NSLock()
    private var make: (@Sendable () throws -> Turn)?

    init(_ make: @escaping @Sendable () throws -> Turn) {
        self.make = make
    }

    func begin() throws -> Turn {
        let make = lock.withLock {
            defer { self.make = nil }
            return self.make
        }
        guard let make else {
            throw StepwellError.Misuse(
                reason: "the events of this turn were taken already",
                advice: "iterate over them once; for another turn call `send` again")
        }
        return try make()
    }
}
