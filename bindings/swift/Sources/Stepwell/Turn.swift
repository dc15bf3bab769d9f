import StepwellBindings

/// A turn: one message of the user, and all that the model and its tools do about it. It is under way from the beginning.
///
///     let turn = agent.stream("What are Alice's and Bob's secret numbers?")
///     for try await update in turn {
///         if case .text(let text) = update { show(text.delta) }
///     }
///     print(try await turn.result().usage)
///
/// As a sequence it gives the updates once, and throws a `StepwellError` if the turn fails. Cancelling the task that
/// iterates cancels the turn, and so do leaving the loop and letting go of the turn. The verbs are for other tasks
/// meanwhile.
public final class Turn<Output: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Update

    let drive: TurnDrive
    private let answer: Answer<Output>

    /// Begins a turn. Where it cannot begin, or its task is cancelled already, that is thrown by what is done with it.
    init(_ engine: Engine, _ answer: Answer<Output>, caller: Caller, begin: () throws -> FfiTurn) {
        self.answer = answer
        drive = TurnDrive(
            provider: engine.model.provider, caller: caller,
            begun: Result {
                try Task.checkCancellation()
                return try begin()
            })
    }

    /// A turn that is under way already.
    init(_ engine: Engine, _ answer: Answer<Output>, caller: Caller, _ turn: FfiTurn) {
        self.answer = answer
        drive = TurnDrive(provider: engine.model.provider, caller: caller, begun: .success(turn))
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(events: events.makeAsyncIterator())
    }

    /// Takes the updates of a turn, and cancels it when it is released before they are over.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let events: EventStream<Output>.AsyncIterator

        public mutating func next() async throws -> Update? {
            while let event = try await events.next() {
                if let update = Update(event) { return update }
            }
            return nil
        }
    }

    /// The turn's events as they are, in the place of its updates: for a backend that passes them on, or its log. The last
    /// one is `.completed`.
    public var events: EventStream<Output> {
        EventStream(turn: self)
    }

    /// The text as it comes: the deltas of the updates that are text. It takes the updates of the turn.
    public var textStream: TextStream<Output> {
        TextStream(turn: self)
    }

    /// Waits for the end of the turn. The result can be had any number of times, beside the events too. Cancelling the
    /// task cancels the turn.
    ///
    /// - Throws: `StepwellError` where the answer is not complete: its `kind` says why. `CancellationError` where the task
    ///   was cancelled.
    public func result() async throws -> TurnResult<Output> {
        let finished = try await drive.finished()
        return try TurnResult(finished, answer.read)
    }

    /// Stops the turn and its tools, and closes its connection: it fails as `.cancelled`.
    public func cancel() { drive.cancel() }

    /// Stops one tool call. The other calls continue, and the model is informed.
    public func cancelCall(_ toolCallId: String) async throws {
        try await drive.turn.cancelCall(toolCallId: toolCallId)
    }

    /// Supplies the result of a tool call: of a deferred call, also in a turn that was revived, or of a call that still
    /// runs, which is then stopped.
    public func resolveCall(_ toolCallId: String, content: String) async throws {
        try await drive.turn.resolveCall(toolCallId: toolCallId, content: content)
    }

    /// Supplies a result that is more than text: AG-UI content parts, such as pictures.
    public func resolveCall(_ toolCallId: String, parts: JsonValue) async throws {
        try await drive.turn.resolveCallParts(toolCallId: toolCallId, parts: parts)
    }

    /// Reports that a call failed; the model is shown the message.
    public func failCall(_ toolCallId: String, message: String, kind: ToolFailureKind? = nil) async throws {
        try await drive.turn.failCall(toolCallId: toolCallId, message: message, kind: kind)
    }

    /// Returns what the turn waits for: approvals and questions for the user, and results of deferred calls. The update
    /// `.pending` reports each change.
    public func pending() async throws -> [Pending] { try await drive.turn.pending() }

    /// Allows the call that waits for the user's approval under this id, with these arguments instead of the model's if
    /// there are any. The model is informed of a change.
    public func approve(_ id: String, arguments: JsonValue? = nil) async throws {
        try await drive.turn.approve(id: id, arguments: arguments)
    }

    /// Denies the call that waits for approval under this id, or declines the question. The model, or the tool that asked,
    /// gets the reason.
    public func deny(_ id: String, reason: String? = nil) async throws {
        try await drive.turn.deny(id: id, reason: reason)
    }

    /// Answers the question of a running tool that waits under this id. The value fits the question's schema.
    public func answer(_ id: String, _ value: JsonValue) async throws {
        try await drive.turn.answer(id: id, value: value)
    }

    /// Sends a message during the turn, without stopping it: the model answers it in this turn, from the next hop on.
    /// Returns the message's id. `.steeringTaken` reports that the message is in the conversation; `.steeringRefused`
    /// returns it if the turn cannot take it.
    @discardableResult
    public func steer(_ text: String, _ parts: ContentPart...) async throws -> String {
        try await drive.turn.steer(text: text, parts: parts)
    }

    /// Sends an AG-UI message during the turn.
    public func steer(message: JsonValue) async throws {
        try await drive.turn.steerMessage(message: message)
    }

    /// Answers all questions that an AG-UI agent asked with `.interrupted`, at once; the turn continues.
    public func resume(_ answers: [ResumeEntry]) async throws {
        try await drive.turn.resume(answers: answers)
    }

    /// Releases the turn without ending it, and returns it as text for `Agent.revive`. Its stream is closed, its tools are
    /// stopped, and its events end: best done once it has `rested`. What the user typed and the turn had not taken is
    /// dropped. A turn whose `result` is waited for without its events runs to its end, and cannot be suspended.
    public func suspend() async throws -> String {
        try await drive.suspend()
    }

    /// Waits until the turn is idle: only the user, or the result of a deferred call, can continue it. Returns its
    /// `snapshot`.
    public func rested() async throws -> String { try await drive.turn.rested() }

    /// Returns the turn as it is now, as text for `Agent.revive`. The text holds no key. A turn that continues after its
    /// snapshot was taken may run tools that the snapshot does not know: prefer `rested`.
    public func snapshot() async throws -> String { try await drive.turn.snapshot() }

    /// Waits until the turn has begun, or has failed to: with a store, it is in the store then.
    public func begun() async throws { try await drive.turn.begun() }

    /// Returns the key that the turn has in its store, once it has `begun` there; nil without a store.
    public func stored() throws -> TurnKey? { try drive.turn.stored()?.key }

    /// Returns what delays the turn's writes: a store that is full, read-only, or unreachable. Nil while there is no
    /// delay, which `.warning` reports.
    public func storeTrouble() throws -> String? { try drive.turn.storeTrouble() }

    /// Returns the conversation from which a revived turn continued; nil for a new turn.
    public func revivedFrom() throws -> Transcript? { try drive.turn.revivedFrom().map(Transcript.init(json:)) }

    /// Returns the conversation in the middle of the turn.
    public func messages() async throws -> Transcript { try await Transcript(json: drive.turn.messages()) }

    /// Returns the state shared with an AG-UI agent in the middle of the turn.
    public func sharedState() async throws -> JsonValue { try await drive.turn.sharedState() }

    /// Returns what an AG-UI agent asks the user now, to be answered with `resume`.
    public func interrupts() async throws -> [Interrupt] { try await drive.turn.interrupts() }

    /// Returns what the turn has cost so far, over all its hops.
    public func usage() async throws -> TokenUsage { try await drive.turn.usage() }
}

/// The text of a turn as it comes.
public struct TextStream<Output: Sendable>: AsyncSequence, Sendable {
    public typealias Element = String

    fileprivate let turn: Turn<Output>

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(events: turn.events.makeAsyncIterator())
    }

    /// Takes the updates of the turn.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let events: EventStream<Output>.AsyncIterator

        public mutating func next() async throws -> String? {
            while let event = try await events.next() {
                if case .textMessageContent(let text) = event { return text.delta }
            }
            return nil
        }
    }
}
