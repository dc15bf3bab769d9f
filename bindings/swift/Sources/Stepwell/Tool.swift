import StepwellBindings

/// A tool as a type of the app: what it does, what it takes, and its code.
///
///     struct Weather: Tool {
///         let description = "The weather of a city."
///         let forecasts: Forecasts
///
///         struct Arguments: Decodable {
///             @Guide("As it is called there.") var city: String
///         }
///
///         func call(arguments: Arguments) async throws -> String {
///             try await forecasts.today(in: arguments.city)
///         }
///     }
///
///     let agent = Agent(model: .openAI("gpt-5-mini"), tools: [Weather(forecasts: .shared)])
///
/// The model is shown the result: text as it is, anything else as JSON. What the code throws is this tool's own: the model is
/// shown the error, and the turn continues. Code that reports its progress, asks the user or needs the app's dependencies
/// is a `ToolWith`.
public protocol Tool: ToolWith where Deps == Void {
    associatedtype Arguments
    associatedtype Output

    /// Runs the tool.
    func call(arguments: Arguments) async throws -> Output
}

extension Tool {
    public func call(arguments: Arguments, context: ToolContext) async throws -> Output {
        try await call(arguments: arguments)
    }
}

/// A tool as a type of the app, with a context: what the run has as `deps`, progress reports and questions to the user.
///
///     struct Balance: ToolWith {
///         let description = "The balance of an account."
///
///         func call(arguments: Account, context: ToolContextWith<Bank>) async throws -> Decimal {
///             try await context.deps.balance(of: arguments.number)
///         }
///     }
///
///     let agent = AgentWith<Bank>(model: .openAI("gpt-5-mini"), tools: [Balance()])
///     print(try await agent.run("How much do I have?", deps: bank).text)
public protocol ToolWith<Deps>: AgentToolConvertible {
    associatedtype Deps
    /// The arguments, whose JSON Schema is derived from the type; see `jsonSchema`.
    associatedtype Arguments: DecodableAnywhere
    /// The result.
    associatedtype Output: EncodableAnywhere & Sendable

    /// The name by which the model calls the tool: the type's in snake case, unless the tool says otherwise.
    var name: String { get }
    /// What the tool does, for the model.
    var description: String { get }
    /// Whether the user must approve each call: by the agent's `approver`, or by `approve` of the turn or conversation.
    var requiresApproval: Bool { get }
    /// Whether running the tool twice does no more than running it once. Only such a tool is run again after a crash.
    var idempotent: Bool { get }
    /// Whether asking again with the same arguments makes sense, as for a tool that checks progress. A model that repeats
    /// the same call of another tool is warned.
    var repeatable: Bool { get }
    /// The longest that the tool may take; if nil, what `Timeouts` says.
    var timeout: Duration? { get }
    /// Runs the tool.
    func call(arguments: Arguments, context: ToolContextWith<Deps>) async throws -> Output
}

extension ToolWith {
    public var name: String { snakeCase(String(describing: Self.self)) }
    public var requiresApproval: Bool { false }
    public var idempotent: Bool { false }
    public var repeatable: Bool { false }
    public var timeout: Duration? { nil }

    public func agentTool() throws -> AgentToolWith<Deps> {
        try AgentToolWith(
            name, description, requiresApproval: requiresApproval, idempotent: idempotent, repeatable: repeatable,
            timeout: timeout
        ) { (arguments: Arguments, context: ToolContextWith<Deps>) in
            try await call(arguments: arguments, context: context)
        }
    }
}

/// What an agent takes as a tool: a `Tool`, a `ToolWith`, or a closure as an `AgentTool`.
public protocol AgentToolConvertible<Deps>: Sendable {
    /// What the agent's runs are given for their tools.
    associatedtype Deps: Sendable

    /// Returns the tool with its JSON Schema.
    ///
    /// - Throws: `SchemaError` if the schema of the arguments cannot be derived.
    func agentTool() throws -> AgentToolWith<Deps>
}

/// `SecretNumber` as `secret_number`.
func snakeCase(_ name: String) -> String {
    var words = ""
    for letter in name.prefix(while: { $0 != "<" }) {
        if letter.isUppercase, let last = words.last, last != "_", !last.isUppercase { words.append("_") }
        words.append(letter)
    }
    return words.lowercased()
}
