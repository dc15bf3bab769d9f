import StepwellBindings

/// A definition: a model, instructions, tools, and all that the turns have in common. It remembers nothing, costs little,
/// and can be shared between users and tasks; what is remembered is a `Conversation`.
///
///     let agent = Agent(model: .openAI("gpt-5-mini"), instructions: "Be brief.", tools: [secretNumber])
///     print(try await agent.run("What is Alice's secret number?").text)
public typealias Agent = AgentWith<Void>

/// An agent whose runs are given `Deps`: what their tools need of the app, such as a database, for one user. Tools have it as
/// `context.deps`, and the compiler checks that they agree.
///
///     let agent = AgentWith<Bank>(model: .openAI("gpt-5-mini"), tools: [Balance()])
///     print(try await agent.run("How much do I have?", deps: Bank(user: user)).text)
///
/// The app's code that is called for a run has the task-local values and the priority of the task that began it.
public struct AgentWith<Deps: Sendable>: Sendable {
    let engine: Engine

    init(engine: Engine) {
        self.engine = engine
    }

    /// Asks the model, without any memory, gives `deps` to the tools, and waits for the complete answer; see `run` of an `Agent`.
    /// The run is kept in no store.
    ///
    /// - Throws: `StepwellError` where the answer is not complete: its `kind` says why. `CancellationError` where the task
    ///   was cancelled.
    public func run(
        _ prompt: String, _ parts: ContentPart..., deps: Deps, options: RunOptions = RunOptions()
    ) async throws -> TurnResult<String> {
        try Task.checkCancellation()
        return try await turn(prompt, parts, .text, deps, options, isAnswerable: false).result()
    }

    /// Asks the model for an answer of the app's type, without any memory; see `run` of an `Agent`.
    ///
    /// - Throws: `SchemaError` where the type has no schema: nothing was sent. `StepwellError` where the answer is not
    ///   complete, or does not fit: `.outputInvalid`. `CancellationError` where the task was cancelled.
    public func run<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, deps: Deps,
        options: RunOptions = RunOptions()
    ) async throws -> TurnResult<Output> {
        try Task.checkCancellation()
        return try await turn(prompt, parts, .decoded(type), deps, options, isAnswerable: false).result()
    }

    /// Asks the model, without any memory, and returns the turn, which is under way at once.
    public func stream(
        _ prompt: String, _ parts: ContentPart..., deps: Deps, options: RunOptions = RunOptions()
    ) -> Turn<String> {
        turn(prompt, parts, .text, deps, options)
    }

    /// Asks the model for an answer of the app's type, without any memory, and returns the turn; see `run`.
    public func stream<Output: DecodableAnywhere & Sendable>(
        _ prompt: String, _ parts: ContentPart..., generating type: Output.Type, deps: Deps,
        options: RunOptions = RunOptions()
    ) -> Turn<Output> {
        turn(prompt, parts, .decoded(type), deps, options)
    }

    /// Returns the conversation with this id, a new one with a random id if there is none. What is said in it is
    /// remembered in this process while a `Conversation` of this id is held, and in the store, if there is one.
    ///
    /// A new conversation begins with the history, and with the shared state of an AG-UI agent. The store is the agent's
    /// if it is nil.
    ///
    /// - Throws: `StepwellError` where the agent cannot work, or the history is none.
    public func conversation(
        id: String? = nil, history: Transcript? = nil, sharedState: JsonValue? = nil, store: SessionStore? = nil
    ) throws -> ConversationWith<Deps> {
        try conversation(
            key: ThreadKey(thread: id ?? randomId()), history: history, sharedState: sharedState, store: store)
    }

    /// Returns the conversation with this key: one of a user's (`room`), say, whose ids are not unique.
    public func conversation(
        key: ThreadKey, history: Transcript? = nil, sharedState: JsonValue? = nil, store: SessionStore? = nil
    ) throws -> ConversationWith<Deps> {
        let agent = try engine.agent(store: store)
        guard history != nil || sharedState != nil else {
            return ConversationWith(engine: engine, agent: agent, key: key, inner: agent.conversation(key: key))
        }
        let begun = (history ?? Transcript()).json
        let inner = try agent.conversationWithHistory(key: key, history: begun, sharedState: sharedState)
        return ConversationWith(engine: engine, agent: agent, key: key, inner: inner)
    }

    /// Continues a stored turn, from what `Turn.rested` or `Turn.suspend` returned, in this process or a later one. The
    /// result of a deferred call is then passed to `Turn.resolveCall`; the user is asked again for each answer that is
    /// missing. Messages of the turn's conversation follow it.
    public func revive(_ snapshot: String, deps: Deps) throws -> Turn<String> {
        let agent = try engine.agent()
        let caller = Caller(deps: deps)
        do {
            let turn = try agent.within(caller: caller.id).revive(snapshot: snapshot)
            return Turn(engine, .text, caller: caller, turn)
        } catch {
            caller.end()
            throw error
        }
    }

    /// Revives every unfinished turn of the store that no process drives any more: those that a dead process left, and
    /// those that were suspended. Call it when the app starts, and as often as needed after that. A turn that is let go
    /// of is cancelled. All of them are given the same `deps`.
    public func recover(store: SessionStore? = nil, deps: Deps) async throws -> [Recovered] {
        let agent = try engine.agent(store: store)
        let caller = Caller(deps: deps)
        let recovered: [FfiRecovered]
        do {
            recovered = try await agent.within(caller: caller.id).recover()
        } catch {
            caller.end()
            throw error
        }
        caller.began(turns: recovered.filter { $0.turn != nil }.count)
        return recovered.map { found in
            let turn = found.turn.map { Turn(engine, .text, caller: caller, $0) }
            return Recovered(key: found.key, turn: turn, error: found.error)
        }
    }

    /// Returns the same agent with another model.
    public func withModel(_ model: Model) -> AgentWith<Deps> {
        AgentWith(engine: engine.with(model))
    }

    /// Reports that the app goes to the background; see `DevicePolicy`. It concerns all turns, also later ones.
    public func enteredBackground() { engine.inform(background: true) }

    /// Reports that the app is in the foreground again.
    public func enteredForeground() { engine.inform(background: false) }

    /// Reports that the network is gone.
    public func networkLost() { engine.inform(offline: true) }

    /// Reports that there is a network, or that another one replaced it.
    public func networkAvailable() { engine.inform(offline: false) }

    /// Begins a turn without memory. What would wait for the user is denied if the app gets no turn to answer it by.
    func turn<Output: Sendable>(
        _ prompt: String, _ parts: [ContentPart], _ answer: Answer<Output>, _ deps: Deps, _ options: RunOptions,
        isAnswerable: Bool = true
    ) -> Turn<Output> {
        let caller = Caller(deps: deps)
        return Turn(engine, answer, caller: caller) {
            let start = Start(runId: randomId(), text: prompt, options: options.made, parts: parts)
            return try answer.of(engine.agent()).within(caller: caller.id).start(
                start: start, tools: ToolList(options.tools).made(), isAnswerable: isAnswerable)
        }
    }
}

/// An unfinished turn of a store.
public struct Recovered: Sendable {
    /// The key of the turn, with that of its conversation.
    public let key: TurnKey
    /// The turn; nil if it cannot continue.
    public let turn: Turn<String>?
    /// Why it cannot: its snapshot cannot be read. It stays unfinished in the store, for a program that can read it, or
    /// until a message is sent in its conversation.
    public let error: String?
}
