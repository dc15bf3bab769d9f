import Foundation

extension AgentTool {
    /// A tool with a closure as its code.
    ///
    /// The closure's result is shown to the model: text, or JSON as text. An error that it throws is this tool's own:
    /// the model is shown the error, and the turn continues. A tool whose result comes later throws
    /// `ToolError.Deferred`, and `Turn.resolveCall` supplies the result. `parameters` is the JSON Schema of the
    /// arguments.
    public init(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        run: @escaping @Sendable (ToolInvocation) async throws -> String
    ) {
        self.init(
            name,
            description,
            parameters: parameters,
            requiresApproval: requiresApproval,
            idempotent: idempotent,
            repeatable: repeatable
        ) { (invocation: ToolInvocation, _: ToolContext) in try await run(invocation) }
    }

    /// A tool whose closure reports its progress, shows partial results, or asks the user.
    public init(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        run: @escaping @Sendable (ToolInvocation, ToolContext) async throws -> String
    ) {
        self.init(
            name,
            description,
            parameters: parameters,
            requiresApproval: requiresApproval,
            idempotent: idempotent,
            repeatable: repeatable,
            output: { (invocation: ToolInvocation, context: ToolContext) in try await run(invocation, context) }
        )
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
        output: @escaping @Sendable (ToolInvocation, ToolContext) async throws -> Output
    ) {
        let definition = ToolDefinition(
            name: name,
            description: description,
            parameters: parameters,
            requiresApproval: requiresApproval,
            idempotent: idempotent,
            repeatable: repeatable
        )
        self.init(
            definition: definition,
            handler: Code { invocation, context in try await output(invocation, context).toolOutput() })
    }

    /// A tool whose closure takes its arguments as a type of the app, and returns text, or a value that the model is
    /// shown as JSON.
    ///
    ///     let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
    ///         numbers[person.name]
    ///     }
    ///
    /// The JSON Schema of the arguments is derived from the type (see `ToolArguments`), or is `parameters`. Throws
    /// `SchemaError` if it cannot be derived. The arguments are decoded on any thread: a type whose `init(from:)` is
    /// isolated to an actor does not compile here (with Swift 6.2 or later).
    public init<Arguments: DecodableAnywhere, Output: EncodableAnywhere>(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        run: @escaping @Sendable (Arguments) async throws -> Output
    ) throws {
        try self.init(
            name,
            description,
            parameters: parameters,
            requiresApproval: requiresApproval,
            idempotent: idempotent,
            repeatable: repeatable
        ) { (arguments: Arguments, _: ToolContext) in try await run(arguments) }
    }

    /// Such a tool whose closure also reports its progress, shows partial results, or asks the user.
    public init<Arguments: DecodableAnywhere, Output: EncodableAnywhere>(
        _ name: String,
        _ description: String,
        parameters: JsonValue? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        run: @escaping @Sendable (Arguments, ToolContext) async throws -> Output
    ) throws {
        self.init(
            name,
            description,
            parameters: try parameters ?? jsonSchema(of: Arguments.self),
            requiresApproval: requiresApproval,
            idempotent: idempotent,
            repeatable: repeatable
        ) { (invocation: ToolInvocation, context: ToolContext) in
            let output = try await run(decodeArguments(Arguments.self, from: invocation.arguments), context)
            return try text(of: output)
        }
    }
}

/// Returns text unchanged, anything else as JSON.
private func text(of output: some Encodable) throws -> String {
    if let text = output as? String { return text }
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(output), as: UTF8.self)
}

/// A tool's code, with its errors as the tool's.
private final class Code: ToolHandler {
    private let run: @Sendable (ToolInvocation, ToolContext) async throws -> ToolOutput

    init(run: @escaping @Sendable (ToolInvocation, ToolContext) async throws -> ToolOutput) {
        self.run = run
    }

    func call(invocation: ToolInvocation, context: ToolContext) async throws -> ToolOutput {
        do {
            return try await run(invocation, context)
        } catch let declared as ToolError {
            throw declared
        } catch {
            throw ToolError.Unexpected(reason: sentence(of: error))
        }
    }
}
