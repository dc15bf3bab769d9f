/// See Apple's `Tool`.
public protocol Tool<Arguments>: Sendable {
    associatedtype Output: Sendable
    associatedtype Arguments
    var name: String { get }
    var description: String { get }
    var parameters: GenerationSchema { get }
    func call(arguments: Arguments) async throws -> Output
}

/// See Apple's `GenerationOptions`.
public struct GenerationOptions: Sendable {
    public struct SamplingMode: Sendable, Equatable {
        let name: String
        public static let greedy = SamplingMode(name: "greedy")
    }

    public struct ToolCallingMode: Sendable {
        public enum Kind: Sendable { case allowed, required, disallowed }
        public let kind: Kind
        public static let allowed = ToolCallingMode(kind: .allowed)
        public static let required = ToolCallingMode(kind: .required)
        public static let disallowed = ToolCallingMode(kind: .disallowed)
    }

    public var samplingMode: SamplingMode?
    public var temperature: Double?
    public var maximumResponseTokens: Int?
    public var toolCallingMode: ToolCallingMode?

    public init(
        samplingMode: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil,
        toolCallingMode: ToolCallingMode? = nil
    ) {
        (self.samplingMode, self.temperature) = (samplingMode, temperature)
        (self.maximumResponseTokens, self.toolCallingMode) = (maximumResponseTokens, toolCallingMode)
    }
}

/// See Apple's `SystemLanguageModel`: here a script answers.
public final class SystemLanguageModel: Sendable {
    public enum Availability: Sendable {
        public enum UnavailableReason: Sendable { case deviceNotEligible, appleIntelligenceNotEnabled, modelNotReady }
        case available
        case unavailable(UnavailableReason)
    }

    /// A request to a scripted session.
    package struct Asked: Sendable {
        package let transcript: Transcript
        package let prompt: String
        package let schema: GenerationSchema?
        package let options: GenerationOptions
        package let tools: [any Tool]

        /// Calls a tool as a session does, whose error it fails with.
        package func call(_ name: String, _ arguments: String) async throws {
            for case let tool as any Tool<GeneratedContent> in tools where tool.name == name {
                do {
                    _ = try await tool.call(arguments: GeneratedContent(json: arguments))
                } catch {
                    throw LanguageModelSession.ToolCallError(underlyingError: error)
                }
            }
        }
    }

    package typealias Script = @Sendable (Asked, @escaping @Sendable (String) -> Void) async throws -> Void

    /// There is no model here.
    public static let `default` = SystemLanguageModel(availability: .unavailable(.deviceNotEligible)) { _, _ in }

    public let availability: Availability
    let script: Script

    /// The script passes on each snapshot of the text.
    package init(availability: Availability = .available, script: @escaping Script) {
        (self.availability, self.script) = (availability, script)
    }
}

/// See Apple's `LanguageModelSession`.
public final class LanguageModelSession: Sendable {
    public struct ToolCallError: Error {
        public let underlyingError: any Error
    }

    public struct Response<Content: Sendable>: Sendable {
        public let content: Content
    }

    public struct ResponseStream<Content: Sendable>: AsyncSequence {
        public struct Snapshot: Sendable {
            public let content: Content
        }
        let snapshots: AsyncThrowingStream<Snapshot, any Error>
        public func makeAsyncIterator() -> AsyncThrowingStream<Snapshot, any Error>.AsyncIterator { snapshots.makeAsyncIterator() }
    }

    private let script: SystemLanguageModel.Script
    private let tools: [any Tool]
    private let transcript: Transcript

    public init(model: SystemLanguageModel, tools: [any Tool] = [], transcript: Transcript) {
        (script, self.tools, self.transcript) = (model.script, tools, transcript)
    }

    /// A session without tools, which remembers nothing here.
    public init<Model: LanguageModel>(model: Model) {
        script = { asked, say in
            let executor = try Model.Executor(configuration: model.executorConfiguration)
            let prompt = Transcript.Prompt(segments: [.text(.init(content: asked.prompt))])
            let channel = LanguageModelExecutorGenerationChannel { if case .text(let text) = $0 { say(text) } }
            try await executor.respond(
                to: LanguageModelExecutorGenerationRequest(transcript: Transcript(entries: [.prompt(prompt)])),
                model: model, streamingInto: channel)
        }
        (tools, transcript) = ([], Transcript())
    }

    public func respond(to prompt: String) async throws -> Response<String> {
        Response(content: try await said(asked(prompt, nil, GenerationOptions())))
    }

    public func streamResponse(to prompt: String, options: GenerationOptions) -> ResponseStream<String> {
        let asked = asked(prompt, nil, options)
        let snapshots = AsyncThrowingStream { stream in
            let task = Task { [script] in
                do {
                    try await script(asked) { stream.yield(ResponseStream<String>.Snapshot(content: $0)) }
                    stream.finish()
                } catch {
                    stream.finish(throwing: error)
                }
            }
            stream.onTermination = { _ in task.cancel() }
        }
        return ResponseStream(snapshots: snapshots)
    }

    public func respond(
        to prompt: String, schema: GenerationSchema, options: GenerationOptions
    ) async throws -> Response<GeneratedContent> {
        Response(content: try GeneratedContent(json: await said(asked(prompt, schema, options))))
    }

    /// All texts that the script passes on.
    private func said(_ asked: SystemLanguageModel.Asked) async throws -> String {
        let (texts, said) = AsyncStream.makeStream(of: String.self)
        try await script(asked) { said.yield($0) }
        said.finish()
        return await texts.reduce("", +)
    }

    private func asked(
        _ prompt: String, _ schema: GenerationSchema?, _ options: GenerationOptions
    ) -> SystemLanguageModel.Asked {
        SystemLanguageModel.Asked(transcript: transcript, prompt: prompt, schema: schema, options: options, tools: tools)
    }
}
