// Generated from bindings/src.
import StepwellBindings

extension AgentWith {
    /// Defines an agent: its model, and all that its turns have in common. Nothing is sent; what cannot work at all, such
    /// as an unknown provider, is thrown by the first run as `.misuse`.
    ///
    ///     let agent = Agent(model: .openAI("gpt-5-mini"), instructions: "Be brief.", tools: [secretNumber])
    ///     print(try await agent.run("What is Alice's secret number?").text)
    ///
    /// - Parameters:
    ///   - model: Which model, from where: `.openAI("gpt-5-mini")`, or `"openai:gpt-5-mini"`.
    ///   - instructions: The app's instructions for the model.
    ///   - fallback: Other models, which are asked in this order when the one before has failed, after its retries. The
    ///     turn stays with the model that answers, and reports `Update.modelChanged`.
    ///   - fallbackAfter: The kinds of failure after which another model is asked. If there are none, they are
    ///     `.overloaded`, `.rateLimit`, `.serverError`, `.connection` and `.timeout`. `.outputInvalid` includes empty answers.
    ///   - fallbackAfterText: Whether another model is asked even if the user has seen a part of the answer. The part
    ///     stays, marked as cut, and the other model answers in a message of its own.
    ///   - modelRest: The time for which a model that has failed is not asked first, by the agents of the process; a minute
    ///     if nil.
    ///   - modelFor: Chooses the model of each hop, and returns its number: 0 is the agent's own, 1 the first of its
    ///     `fallback`. After an error, and for a number that no model has, the turn continues with the model that it has. A
    ///     model that fails is replaced all the same.
    ///   - summaryModel: The model that writes the summaries of long conversations, instead of the agent's own. Without a
    ///     `compaction` that says otherwise, summaries are the one way.
    ///   - tools: The tools that the model may call.
    ///   - approver: Asks the user to approve the calls of tools that need it. Its task is cancelled when the turn ends.
    ///     Without it the calls wait, and are listed by `Turn.pending`; a `run` denies them.
    ///   - answerer: Asks the user the questions of running tools. Without it the questions wait, and are listed by
    ///     `Turn.pending`; a `run` declines them.
    ///   - onToolError: What happens if a tool fails. Without it the model is told, and continues.
    ///   - store: Keeps the turns, for conversations that name no store of their own: one that
    ///     `SessionStore.openSqlite` returned, say.
    ///   - waitsForStore: Whether a turn waits for its store however long it takes.
    ///   - hooks: Code that looks at requests, answers and calls, changes or refuses them, in this order.
    ///   - credentials: Supplies the key and the headers of each request, for tokens that expire; `CredentialRequest.model`
    ///     is the model that is asked. It is called again when the provider refuses its answer with a 401. Without it they
    ///     are the model's.
    ///   - instructionsFrom: Makes the instructions of each turn, before its first request.
    ///   - trimContext: Shortens a conversation that no longer fits the model's context, of which it is given the
    ///     messages in AG-UI's form; nil if it cannot be shortened.
    ///   - runSource: Creates the run of each hop, for a backend that makes their ids, and returns its id.
    ///   - journal: Takes the journal of each turn, for `replayJournal`: the turn, and complete lines of it. It should
    ///     return quickly.
    ///   - client: Sends the requests. Without it they go through `URLSession` on Apple's systems, and elsewhere through
    ///     the library's own connections, which are a `BuiltInTransport`.
    ///   - registry: A registry that the app has stored, or that several agents share.
{%- for field in config %}
    ///   {{ self::parameter_doc(field) }}
{%- endfor %}
    public init(
        model: Model,
        instructions: String? = nil,
        fallback: [Model] = [],
        fallbackAfter: [ErrorKind] = [],
        fallbackAfterText: Bool = false,
        modelRest: Duration? = nil,
        modelFor: (@Sendable (HopContext) async throws -> Int)? = nil,
        summaryModel: Model? = nil,
        tools: [any AgentToolConvertible<Deps>] = [],
        approver: (@Sendable (ToolInvocation) async throws -> Decision)? = nil,
        answerer: (@Sendable (ToolInvocation, Question) async throws -> UserAnswer)? = nil,
        onToolError: OnToolError? = nil,
        store: SessionStore? = nil,
        waitsForStore: Bool = false,
        hooks: [AgentHook] = [],
        credentials: (@Sendable (CredentialRequest) async throws -> Authorization)? = nil,
        instructionsFrom: (@Sendable (InstructionsRequest) async throws -> String)? = nil,
        trimContext: (@Sendable (ContextOverflow, JsonValue) async throws -> Trimmed?)? = nil,
        runSource: (@Sendable (NewRun) async throws -> String)? = nil,
        journal: (@Sendable (_ turn: String, _ lines: String) throws -> Void)? = nil,
        client: (any HttpTransport)? = nil,
        registry: RunRegistry? = nil
{%- for field in config %},
        {{ self::parameter(field)? }}
{%- endfor %}
    ) {
        var config = RunConfig(
            provider: model.provider,
            instructions: instructions
{%- for field in config %},
            {{ field.name.to_lower_camel_case() }}: {{ field.name.to_lower_camel_case() }}
{%- endfor %}
        )
        config.fallback = Fallback(
            after: fallbackAfter, afterText: fallbackAfterText, rest: modelRest, choice: modelFor == nil ? nil : .host)
        let setup = AgentSetup(
            approver: approver.map(Approving.init),
            answerer: answerer.map(Answering.init),
            onToolError: onToolError,
            store: store.map { StoreSetup(store: $0, waits: waitsForStore) },
            journal: journal.map(Journaling.init),
            client: client,
            runSource: runSource.map(CreatingRuns.init),
            trimContext: trimContext.map(Trimming.init),
            modelFor: modelFor.map(Choosing.init),
            credentials: credentials.map(Authorizing.init),
            hooks: hooks.map(\.made),
            instructionsFrom: instructionsFrom.map(Instructing.init),
            registry: registry
        )
        let models = AgentModels(own: model, fallback: fallback, summary: summaryModel)
        self.init(engine: Engine(models: models, config: config, setup: setup, tools: ToolList(tools)))
    }
}
