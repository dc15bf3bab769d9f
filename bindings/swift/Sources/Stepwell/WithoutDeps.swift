// Agents and conversations whose runs are given nothing for their tools.
import StepwellBindings

extension AgentWith where Deps == Void {
    /// Asks the model, without any memory, and waits for its complete answer. The parts follow the prompt, in order: what
    /// `image`, `audio`, `video`, `document` and `file` make, and texts between them. Cancelling the task cancels the turn.
    /// The run is kept in no store.
    ///
    /// Nobody can answer what the run asks the user: without an approver its calls are denied, and without an answerer the
    /// questions of its tools are declined. In a `stream` and in a conversation they wait.
    ///
    /// Questions of an AG-UI agent are not shown to the user meanwhile: the agent is informed that there is no answer,
    /// and if it asks again, the turn is cancelled. `stream` shows them.
    ///
    /// - Throws: `StepwellError` where the answer is not complete: its `kind` says why. `CancellationError` where the task
    ///   was cancelled.
    public func run(
        _ prompt: String, _ parts: ContentPart..., options: RunOptions = RunOptions()
    ) async throws -> TurnResult<String> {
        try Task.checkCancellation()
        return try await turn(prompt, parts, .text, (), options, isAnswerable: false).result()
    }

    /// Asks the model for an answer of the app's type, without any memory.
    ///
    ///     struct Trip: Decodable {
    ///         let city: String
    ///         @Guide("At least one.", .minimum(1)) var days: Int
    ///     }
    ///
    ///     let trip = try await agent.run("Three days in Norway's rainiest city", generating: Trip.self).output
    ///
    /// Any `Decodable` type will do from which a JSON Schema can be derived; see `jsonSchema`. An answer that does
    /// not fit the type goes back to the model with the path and the reason, twice; then the turn fails.
    ///
    /// - Throws: `SchemaError` where the type has no schema: nothing was sent. `StepwellError` where the answer is not
    ///   complete, or does not fit: `.outputInvalid`. `CancellationError` where the task was cancelled.
    public func run<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, options: RunOptions = RunOptions()
    ) async throws -> TurnResult<Output> {
        try Task.checkCancellation()
        return try await turn(prompt, parts, .decoded(type), (), options, isAnswerable: false).result()
    }

    /// Asks the model, without any memory, and returns the turn, which is under way at once.
    ///
    ///     for try await text in agent.stream("Tell me a story").textStream { print(text, terminator: "") }
    public func stream(
        _ prompt: String, _ parts: ContentPart..., options: RunOptions = RunOptions()
    ) -> Turn<String> {
        turn(prompt, parts, .text, (), options)
    }

    /// Asks the model for an answer of the app's type, without any memory, and returns the turn; see `run`.
    public func stream<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, options: RunOptions = RunOptions()
    ) -> Turn<Output> {
        turn(prompt, parts, .decoded(type), (), options)
    }

    /// Continues a stored turn, from what `Turn.rested` or `Turn.suspend` returned; see `revive` with `deps`.
    public func revive(_ snapshot: String) throws -> Turn<String> {
        try revive(snapshot, deps: ())
    }

    /// Revives every unfinished turn of the store that no process drives any more; see `recover` with `deps`.
    public func recover(store: SessionStore? = nil) async throws -> [Recovered] {
        try await recover(store: store, deps: ())
    }
}

extension ConversationWith where Deps == Void {
    /// Sends a message to the model, and waits for its complete answer; see `Agent.run`.
    ///
    /// - Throws: `StepwellError` where the answer is not complete: its `kind` says why. `CancellationError` where the task
    ///   was cancelled.
    public func send(
        _ prompt: String, _ parts: ContentPart..., options: RunOptions = RunOptions()
    ) async throws -> TurnResult<String> {
        try Task.checkCancellation()
        return try await stream(prompt, parts: parts, answer: .text, deps: (), options: options).result()
    }

    /// Sends a message, and waits for an answer of the app's type; see `Agent.run`.
    public func send<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, options: RunOptions = RunOptions()
    ) async throws -> TurnResult<Output> {
        try Task.checkCancellation()
        return try await stream(prompt, parts: parts, answer: .decoded(type), deps: (), options: options).result()
    }

    /// Sends a message, and returns the turn, which is under way at once.
    public func stream(
        _ prompt: String, _ parts: ContentPart..., options: RunOptions = RunOptions()
    ) -> Turn<String> {
        stream(prompt, parts: parts, answer: .text, deps: (), options: options)
    }

    /// Sends a message for an answer of the app's type, and returns the turn.
    public func stream<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, options: RunOptions = RunOptions()
    ) -> Turn<Output> {
        stream(prompt, parts: parts, answer: .decoded(type), deps: (), options: options)
    }

    /// Begins a turn with ids and a message that the app makes; see `stream` with `deps`.
    public func stream(_ start: Start) -> Turn<String> {
        stream(start, deps: ())
    }

    /// Begins a turn that does not follow the last one; see `branch` with `deps`.
    public func branch(parent: String?, _ start: Start) -> Turn<String> {
        branch(parent: parent, start, deps: ())
    }

    /// Sends another message instead of the one that a stored turn began with; see `resend` with `deps`.
    public func resend(turn: String, _ prompt: String, _ parts: ContentPart...) async throws -> Turn<String> {
        try await resend(turn: turn, prompt, parts: parts, deps: ())
    }

    /// Allows the call that waits for the user's approval under this id; see `approve` with `deps`.
    public func approve(_ id: String, arguments: JsonValue? = nil) async throws {
        try await approve(id, arguments: arguments, deps: ())
    }

    /// Denies the call that waits for approval under this id, or declines the question; see `deny` with `deps`.
    public func deny(_ id: String, reason: String? = nil) async throws {
        try await deny(id, reason: reason, deps: ())
    }

    /// Answers the question of a running tool that waits under this id; see `answer` with `deps`.
    public func answer(_ id: String, _ value: JsonValue) async throws {
        try await answer(id, value, deps: ())
    }

    /// Gives the turn the result of a deferred call; see `resolveCall` with `deps`.
    public func resolveCall(_ toolCallId: String, content: String) async throws {
        try await resolveCall(toolCallId, content: content, deps: ())
    }

    /// Gives the turn a result that is more than text; see `resolveCall` with `deps`.
    public func resolveCall(_ toolCallId: String, parts: JsonValue) async throws {
        try await resolveCall(toolCallId, parts: parts, deps: ())
    }

    /// Reports that a deferred call failed; see `failCall` with `deps`.
    public func failCall(_ toolCallId: String, message: String, kind: ToolFailureKind? = nil) async throws {
        try await failCall(toolCallId, message: message, kind: kind, deps: ())
    }
}
