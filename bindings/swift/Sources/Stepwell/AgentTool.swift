import StepwellBindings

/// A tool with a closure as its code, for runs that are given nothing.
public typealias AgentTool = AgentToolWith<Void>

/// A tool with a closure as its code; `Deps` is what the agent's runs are given for their tools.
///
/// The closure's result is shown to the model: text, or JSON as text. An error that it throws is this tool's own: the model
/// is shown the error, and the turn continues. A tool whose result comes later throws `ToolError.Deferred`, and
/// `Turn.resolveCall` supplies the result.
public struct AgentToolWith<Deps: Sendable>: AgentToolConvertible {
    /// How the model sees the tool, and how the tool may be run.
    public let definition: ToolDefinition
    let run: @Sendable (ToolInvocation, ToolContextWith<Deps>) async throws -> ToolOutput

    public func agentTool() -> AgentToolWith<Deps> { self }

    /// A tool whose closure takes the call with its arguments as JSON, of which `parameters` is the JSON Schema.
    public init(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        timeout: Duration? = nil,
        run: @escaping @Sendable (ToolInvocation) async throws -> String
    ) {
        self.init(
            name, description, parameters: parameters, requiresApproval: requiresApproval, idempotent: idempotent,
            repeatable: repeatable, timeout: timeout
        ) { (invocation: ToolInvocation, _: ToolContextWith<Deps>) in try await run(invocation) }
    }

    /// A tool whose closure also reports its progress, shows partial results, or asks the user.
    public init(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        timeout: Duration? = nil,
        run: @escaping @Sendable (ToolInvocation, ToolContextWith<Deps>) async throws -> String
    ) {
        self.init(
            name, description, parameters: parameters, requiresApproval: requiresApproval, idempotent: idempotent,
            repeatable: repeatable, timeout: timeout,
            output: { (invocation: ToolInvocation, context: ToolContextWith<Deps>) in try await run(invocation, context) })
    }

    /// A tool whose closure returns media: an `image`, say, an array of such parts, or a `ToolOutput` with text before
    /// them.
    ///
    ///     let chart = AgentTool("chart", "Draws a chart.", output: { _, _ in try image(drawn()) })
    public init<Output: ToolOutputConvertible>(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        timeout: Duration? = nil,
        output: @escaping @Sendable (ToolInvocation, ToolContextWith<Deps>) async throws -> Output
    ) {
        definition = ToolDefinition(
            name: name, description: description, parameters: parameters, requiresApproval: requiresApproval, idempotent: idempotent,
            repeatable: repeatable, timeout: timeout)
        run = { invocation, context in try await output(invocation, context).toolOutput() }
    }

    /// A tool whose closure takes its arguments as a type of the app, and returns text, or a value that the model is
    /// shown as JSON.
    ///
    ///     let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
    ///         numbers[person.name]
    ///     }
    ///
    /// The JSON Schema of the arguments is derived from the type (see `jsonSchema`), or is `parameters`. Throws
    /// `SchemaError` if it cannot be derived. The arguments are decoded on any thread: a type whose `init(from:)` is
    /// isolated to an actor does not compile here (with Swift 6.2 or later).
    public init<Arguments: DecodableAnywhere, Output: EncodableAnywhere>(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        timeout: Duration? = nil,
        run: @escaping @Sendable (Arguments) async throws -> Output
    ) throws {
        try self.init(
            name, description, parameters: parameters, requiresApproval: requiresApproval, idempotent: idempotent,
            repeatable: repeatable, timeout: timeout
        ) { (arguments: Arguments, _: ToolContextWith<Deps>) in try await run(arguments) }
    }

    /// Such a tool whose closure also uses the run's dependencies, reports its progress, shows partial results, or asks the
    /// user.
    ///
    ///     let balance = try AgentToolWith("balance", "…") { (account: Account, context: ToolContextWith<Bank>) in
    ///         try await context.deps.balance(of: account.number)
    ///     }
    public init<Arguments: DecodableAnywhere, Output: EncodableAnywhere>(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        timeout: Duration? = nil,
        run: @escaping @Sendable (Arguments, ToolContextWith<Deps>) async throws -> Output
    ) throws {
        self.init(
            name, description, parameters: try parameters ?? jsonSchema(of: Arguments.self),
            requiresApproval: requiresApproval, idempotent: idempotent, repeatable: repeatable, timeout: timeout
        ) { (invocation: ToolInvocation, context: ToolContextWith<Deps>) in
            let output = try await run(decodeArguments(Arguments.self, from: invocation.arguments), context)
            return try shown(output)
        }
    }

    fileprivate init(
        _ definition: ToolDefinition,
        run: @escaping @Sendable (ToolInvocation, ToolContextWith<Deps>) async throws -> ToolOutput
    ) {
        self.definition = definition
        self.run = run
    }
}

extension AgentToolConvertible where Deps == Void {
    /// Returns the tool for an agent whose runs are given dependencies, of which this tool makes no use.
    public func withDeps<Other: Sendable>(_ type: Other.Type = Other.self) throws -> AgentToolWith<Other> {
        let tool = try agentTool()
        return AgentToolWith(tool.definition) { invocation, context in
            try await tool.run(invocation, ToolContext(context.reports, deps: ()))
        }
    }
}
