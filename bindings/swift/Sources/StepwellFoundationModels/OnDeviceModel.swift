import Foundation
import Stepwell

#if canImport(FoundationModels)
    import FoundationModels
#else
    import FoundationModelsStandIn
#endif

@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
extension Model {
    /// Apple's model on this device, for an agent: with Stepwell's tools, approvals, limits and stores, and without a network.
    ///
    ///     let agent = Agent(model: .onDevice(), instructions: "Be brief.")
    ///     print(try await agent.run("What is the capital of Norway?").text)
    ///
    /// A turn fails as `.notFound` where the model is not available, and says why.
    public static func onDevice(_ model: SystemLanguageModel = .default) -> Model {
        Model(
            provider: "openai-compatible", name: "on-device", baseUrl: "http://on-device.invalid/v1",
            transport: OnDeviceTransport(model))
    }
}

/// Answers an agent's requests by a session of the system's model, in the form of Chat Completions. Nothing is sent.
///
/// Each request has a session of its own, which begins with the transcript that the request holds.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
final class OnDeviceTransport: HttpTransport {
    private let model: SystemLanguageModel

    init(_ model: SystemLanguageModel) {
        self.model = model
    }

    func send(request: HttpRequest, answer: HttpAnswer) async throws {
        let chunks = ChunkStream(answer)
        do {
            if case .unavailable(let reason) = model.availability { throw OnDeviceProblem.unavailable(reason) }
            try await respond(to: try OnDeviceRequest(request.body), through: chunks)
        } catch is CancellationError {
            throw CancellationError()
        } catch LanguageModelError.refusal {
            try await chunks.send(.refusal("the on-device model refused to answer"))
            try await chunks.end([])
        } catch {
            try await chunks.fail(OnDeviceProblem(error))
        }
    }

    private func respond(to request: OnDeviceRequest, through chunks: ChunkStream) async throws {
        let calls = CallRecorder()
        let tools = try request.tools.map { try RecordedTool($0, calls) }
        let session = LanguageModelSession(model: model, tools: tools, transcript: try request.transcript(tools))
        let schema = try request.schema.map { try generationSchema($0.schema, name: $0.name) }
        do {
            if let schema {
                let response = try await session.respond(to: request.prompt, schema: schema, options: request.options)
                try await chunks.send(.text(response.content.jsonString))
            } else {
                var sent = ""
                for try await snapshot in session.streamResponse(to: request.prompt, options: request.options) {
                    // Each snapshot is the text so far. A character may grow, so the bytes are compared.
                    guard snapshot.content.utf8.starts(with: sent.utf8) else { throw OnDeviceProblem.rewritten }
                    let delta = String(decoding: snapshot.content.utf8.dropFirst(sent.utf8.count), as: UTF8.self)
                    sent = snapshot.content
                    if !delta.isEmpty { try await chunks.send(.text(delta)) }
                }
            }
        } catch where !calls.all.isEmpty {
            // A tool has ended the session: the agent runs it.
        }
        try await chunks.end(calls.all)
    }
}

/// Notes the calls of a session's tools.
private final class CallRecorder: @unchecked Sendable {
    private let lock = NSLock()
    private var calls: [Chunk.Call] = []

    var all: [Chunk.Call] { lock.withLock { calls } }

    func add(_ name: String, _ arguments: String) {
        lock.withLock {
            let function = Chunk.Call.Function(name: name, arguments: arguments)
            calls.append(Chunk.Call(index: calls.count, id: UUID().uuidString.lowercased(), function: function))
        }
    }
}

/// A tool of the agent in a session: its call is noted, and ends the session.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
struct RecordedTool: FrameworkTool {
    let name: String
    let description: String
    let parameters: GenerationSchema
    private let calls: CallRecorder

    fileprivate init(_ tool: OnDeviceRequest.Tool, _ calls: CallRecorder) throws {
        name = tool.function.name
        description = tool.function.description ?? ""
        parameters = try generationSchema(tool.function.parameters ?? SchemaNode(type: "object"), name: name)
        self.calls = calls
    }

    func call(arguments: GeneratedContent) async throws -> String {
        calls.add(name, arguments.jsonString)
        throw HandedToAgent()
    }
}

/// Ends a session: the agent runs the tool.
private struct HandedToAgent: Error {}

/// Why the system's model gave no answer, as an error of Chat Completions.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
struct OnDeviceProblem: Error {
    let status: UInt16
    let code: String
    let message: String

    static func unavailable(_ reason: SystemLanguageModel.Availability.UnavailableReason) -> OnDeviceProblem {
        OnDeviceProblem(status: 404, code: "model_not_found", message: "the on-device model is not available: \(reason)")
    }

    static func unsupported(_ what: String) -> OnDeviceProblem {
        OnDeviceProblem(status: 400, code: "invalid_request", message: "the on-device model does not take \(what)")
    }

    static let rewritten = OnDeviceProblem(
        status: 500, code: "server_error", message: "the on-device model changed text that it had sent")

    private init(status: UInt16, code: String, message: String) {
        (self.status, self.code, self.message) = (status, code, message)
    }

    init(_ error: any Error) {
        self =
            switch error {
            case let problem as OnDeviceProblem: problem
            case LanguageModelError.contextSizeExceeded:
                OnDeviceProblem(
                    status: 400, code: "context_length_exceeded", message: "the conversation exceeds the model's context")
            case LanguageModelError.rateLimited:
                OnDeviceProblem(status: 429, code: "rate_limit_exceeded", message: "the system limits the app's requests")
            case LanguageModelError.guardrailViolation:
                OnDeviceProblem(status: 400, code: "content_filter", message: "the system's guardrails stopped the answer")
            case LanguageModelError.timeout:
                OnDeviceProblem(status: 504, code: "timeout", message: "the on-device model took too long")
            default:
                // The error's text may hold the conversation.
                OnDeviceProblem(
                    status: 500, code: "server_error", message: "the on-device model failed with \(type(of: error))")
            }
    }
}
