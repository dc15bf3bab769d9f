import Foundation
import StepwellBindings

/// The tools of an agent, as Stepwell takes them. Those without a schema are an error of the first run.
struct ToolList: Sendable {
    let made: @Sendable () throws -> [FfiAgentTool]

    init<Deps: Sendable>(_ tools: [any AgentToolConvertible<Deps>]) {
        made = {
            try tools.map { tool in
                let tool = try tool.agentTool()
                return FfiAgentTool(definition: tool.definition, handler: ToolCode(run: tool.run))
            }
        }
    }
}

/// Returns text unchanged, anything else as JSON.
func shown(_ output: some Encodable) throws -> String {
    if let text = output as? String { return text }
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(output), as: UTF8.self)
}

/// A tool's code, with its errors as the tool's.
private final class ToolCode<Deps: Sendable>: ToolHandler {
    private let run: @Sendable (ToolInvocation, ToolContextWith<Deps>) async throws -> ToolOutput

    init(run: @escaping @Sendable (ToolInvocation, ToolContextWith<Deps>) async throws -> ToolOutput) {
        self.run = run
    }

    func call(invocation: ToolInvocation, context: FfiToolContext) async throws -> ToolOutput {
        do {
            // The compiler has seen to it that the agent's runs are given these.
            guard let deps = Caller.deps as? Deps else {
                throw ToolError.Unexpected(reason: "the run has no \(Deps.self)")
            }
            return try await run(invocation, ToolContextWith(context, deps: deps))
        } catch let declared as ToolError {
            throw declared
        } catch {
            throw ToolError.Unexpected(reason: sentence(of: error))
        }
    }
}
