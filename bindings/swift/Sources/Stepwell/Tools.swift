import Foundation

extension AgentTool {
    /// A tool with a closure as its code.
    ///
    /// What the closure gives is shown to the model: text, or JSON as text. An error that it throws is this tool's own:
    /// the model is shown it, and the turn goes on. A tool whose result comes later throws `ToolError.Deferred`, and
    /// `Turn.finishCall` brings it. `parametersJson` is the JSON Schema of the arguments.
    public init(
        _ name: String,
        _ description: String,
        parametersJson: String? = nil,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        run: @escaping @Sendable (ToolInvocation) async throws -> String
    ) {
        let definition = ToolDefinition(
            name: name,
            description: description,
            parametersJson: parametersJson,
            requiresApproval: requiresApproval,
            idempotent: idempotent,
            repeatable: repeatable
        )
        self.init(definition: definition, handler: Code(run: run))
    }

    /// A tool whose closure takes its arguments as a type of the app's own.
    public init<Arguments: Decodable>(
        _ name: String,
        _ description: String,
        parametersJson: String,
        arguments: Arguments.Type,
        requiresApproval: Bool = false,
        idempotent: Bool = false,
        repeatable: Bool = false,
        run: @escaping @Sendable (Arguments) async throws -> String
    ) {
        self.init(
            name,
            description,
            parametersJson: parametersJson,
            requiresApproval: requiresApproval,
            idempotent: idempotent,
            repeatable: repeatable
        ) { invocation in
            try await run(JSONDecoder().decode(Arguments.self, from: Data(invocation.argumentsJson.utf8)))
        }
    }
}

/// A tool's code, with its errors as the tool's.
private final class Code: ToolHandler {
    private let run: @Sendable (ToolInvocation) async throws -> String

    init(run: @escaping @Sendable (ToolInvocation) async throws -> String) {
        self.run = run
    }

    func call(invocation: ToolInvocation) async throws -> String {
        do {
            return try await run(invocation)
        } catch let declared as ToolError {
            throw declared
        } catch {
            throw ToolError.Unexpected(reason: String(describing: error))
        }
    }
}
