import StepwellBindings

/// A conversation: what is said in it is in the history of its next turn. `Agent.conversation` makes one.
///
/// Conversations of one agent with the same id are the same one. Where none of them is held any more, what this process
/// remembered is released; what a store has stays there.
///
/// A second message while a turn is under way fails as `.busy`, unless `whenBusy` says otherwise.
public typealias Conversation = ConversationWith<Void>

/// A conversation whose turns are given `Deps` for their tools; see `AgentWith`.
public final class ConversationWith<Deps: Sendable>: Sendable {
    /// The conversation's id, with its room and its server: the key that a store has for it.
    public let key: ThreadKey
    private let engine: Engine
    let agent: FfiAgent
    let inner: FfiConversation

    init(engine: Engine, agent: FfiAgent, key: ThreadKey, inner: FfiConversation) {
        self.engine = engine
        self.agent = agent
        self.key = key
        self.inner = inner
    }

    /// The conversation's id.
    public var id: String { key.thread }

    /// The conversation as it was after the last turn of this process.
    public var messages: Transcript { Transcript(json: inner.messages()) }

    /// The state shared with an AG-UI agent, as it was after the last turn of this process.
    public var sharedState: JsonValue { inner.sharedState() }

    /// Sends a message to the model, and waits for its complete answer; see `Agent.run`.
    ///
    /// - Throws: `StepwellError` where the answer is not complete: its `kind` says why. `CancellationError` where the task
    ///   was cancelled.
    public func send(
        _ prompt: String, _ parts: ContentPart..., deps: Deps, options: RunOptions = RunOptions()
    ) async throws -> TurnResult<String> {
        try Task.checkCancellation()
        return try await stream(prompt, parts: parts, answer: .text, deps: deps, options: options).result()
    }

    /// Sends a message, and waits for an answer of the app's type; see `Agent.run`.
    public func send<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, deps: Deps,
        options: RunOptions = RunOptions()
    ) async throws -> TurnResult<Output> {
        try Task.checkCancellation()
        return try await stream(prompt, parts: parts, answer: .decoded(type), deps: deps, options: options).result()
    }

    /// Sends a message, and returns the turn, which is under way at once.
    public func stream(
        _ prompt: String, _ parts: ContentPart..., deps: Deps, options: RunOptions = RunOptions()
    ) -> Turn<String> {
        stream(prompt, parts: parts, answer: .text, deps: deps, options: options)
    }

    /// Sends a message for an answer of the app's type, and returns the turn.
    public func stream<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, deps: Deps,
        options: RunOptions = RunOptions()
    ) -> Turn<Output> {
        stream(prompt, parts: parts, answer: .decoded(type), deps: deps, options: options)
    }

    /// Begins a turn with ids and a message that the app makes: with the answers to what an AG-UI agent asked at the end
    /// of an earlier turn, say.
    public func stream(_ start: Start, deps: Deps) -> Turn<String> {
        turn(.text, deps) { try $0.start(start: start) }
    }

    /// Begins a turn that does not follow the last one: it continues the conversation as of the turn `parent`, or is a
    /// first one. The turns that followed before stay in the store as another branch. Needs a store.
    public func branch(parent: String?, _ start: Start, deps: Deps) -> Turn<String> {
        turn(.text, deps) { try $0.branch(parent: parent, start: start) }
    }

    /// Sends another message instead of the one that a stored turn began with: a new branch, from the conversation before
    /// that turn, which stays. Needs a store.
    public func resend(
        turn: String, _ prompt: String, _ parts: ContentPart..., deps: Deps
    ) async throws -> Turn<String> {
        try await resend(turn: turn, prompt, parts: parts, deps: deps)
    }

    /// Cancels the turn under way, if there is one.
    public func cancel() {
        inner.cancel()
    }

    /// Returns the conversation as the store has it: for one that this process has not sent in yet. From then on
    /// `messages` has it too.
    @discardableResult
    public func load() async throws -> Transcript {
        Transcript(json: try await inner.load())
    }

    /// Cancels the turn under way, forgets the conversation, and deletes it from the store with all its turns. Returns
    /// whether the store had it; without a store, false.
    @discardableResult
    public func delete() async throws -> Bool {
        try await inner.delete()
    }

    func resend(
        turn: String, _ prompt: String, parts: [ContentPart], deps: Deps
    ) async throws -> Turn<String> {
        try Task.checkCancellation()
        let caller = Caller(deps: deps)
        do {
            let inner = agent.within(caller: caller.id).conversation(key: key)
            return Turn(
                engine, .text, caller: caller, try await inner.resend(turn: turn, text: prompt, parts: parts))
        } catch {
            caller.end()
            throw error
        }
    }

    func stream<Output: Sendable>(
        _ prompt: String, parts: [ContentPart], answer: Answer<Output>, deps: Deps, options: RunOptions
    ) -> Turn<Output> {
        turn(answer, deps) {
            try $0.send(text: prompt, options: options.made, tools: ToolList(options.tools).made(), parts: parts)
        }
    }

    func begin(_ start: Start, tools: [any AgentToolConvertible<Void>], deps: Deps) -> Turn<String> {
        turn(.text, deps) { try $0.start(start: start, tools: ToolList(tools).made()) }
    }

    private func turn<Output: Sendable>(
        _ answer: Answer<Output>, _ deps: Deps, begin: (FfiConversation) throws -> FfiTurn
    ) -> Turn<Output> {
        let caller = Caller(deps: deps)
        return Turn(engine, answer, caller: caller) {
            try begin(answer.of(agent).within(caller: caller.id).conversation(key: key))
        }
    }
}
