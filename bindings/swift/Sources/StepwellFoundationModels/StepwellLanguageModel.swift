import Foundation
import Stepwell

#if canImport(FoundationModels)
    import FoundationModels
#else
    import FoundationModelsStandIn
#endif

/// A model of any of Stepwell's providers, for a `LanguageModelSession` of Apple's FoundationModels.
///
///     let session = LanguageModelSession(model: StepwellLanguageModel(.anthropic("claude-sonnet-4-5")))
///     print(try await session.respond(to: "What is the capital of Norway?").content)
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
public struct StepwellLanguageModel: LanguageModel {
    public typealias Executor = StepwellExecutor

    private let agent: Agent

    /// A model with the defaults of an `Agent`.
    public init(_ model: Model) {
        self.init(agent: Agent(model: model))
    }

    /// The model of an agent, with its keys, headers, client, settings, retries, time limits and hooks.
    ///
    /// Tools, instructions and history are those of the session: the agent's own tools and its store are not used, and its
    /// instructions only by a session without any.
    public init(agent: Agent) {
        self.agent = agent
    }

    /// Tools and typed answers. The session refuses pictures in a prompt, and a level of reasoning.
    public var capabilities: LanguageModelCapabilities {
        LanguageModelCapabilities([.toolCalling, .guidedGeneration])
    }

    public var executorConfiguration: StepwellExecutor.Configuration {
        StepwellExecutor.Configuration(agent: agent)
    }
}

/// Answers the requests of a session by a model of Stepwell; see `StepwellLanguageModel`.
///
/// Each request is a turn of one hop, which is kept in no store. The session runs the tools, and sends the next request.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
public struct StepwellExecutor: LanguageModelExecutor {
    public typealias Model = StepwellLanguageModel

    /// The agent whose model answers. Copies of one `StepwellLanguageModel` are equal, and share an executor.
    public struct Configuration: Hashable, Sendable {
        let agent: Agent

        public static func == (one: Configuration, other: Configuration) -> Bool { one.agent.identity == other.agent.identity }
        public func hash(into hasher: inout Hasher) { hasher.combine(agent.identity) }
    }

    private let agent: Agent

    public init(configuration: Configuration) throws {
        agent = configuration.agent
    }

    /// Sends the session's transcript to the model, and the answer to the channel: the text as it arrives, then the calls of
    /// the session's tools, then the usage. A typed answer is sent as a whole, once it fits its schema.
    ///
    /// - Throws: `LanguageModelError` for what the framework has a case for, otherwise `StepwellError`. `CancellationError`
    ///   where the task was cancelled.
    public func respond(
        to request: LanguageModelExecutorGenerationRequest, model: StepwellLanguageModel,
        streamingInto channel: LanguageModelExecutorGenerationChannel
    ) async throws {
        do {
            let conversation = try SessionConversation(request.transcript)
            let turn = agent.turn(
                continuing: conversation.messages,
                output: try request.schema.map { OutputType(name: "answer", schema: try JsonValue(encoding: $0)) },
                options: try RunOptions(request, instructions: conversation.instructions))
            let answer = SessionAnswer(channel)
            for try await event in turn.events {
                if request.schema == nil, case .textMessageContent(let text) = event { await answer.send(text.delta) }
            }
            let result = try await turn.result()
            let calls = result.calls(of: Set(request.enabledToolDefinitions.map(\.name)))
            if request.schema != nil, calls.isEmpty { await answer.send(result.output) }
            await answer.end(calls, result.usage)
        } catch let error as StepwellError {
            throw sessionError(error)
        }
    }
}

/// An answer on its way to a session: an entry with the text, and one with the calls.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
private struct SessionAnswer {
    private let channel: LanguageModelExecutorGenerationChannel
    private let text = UUID().uuidString
    private let calls = UUID().uuidString

    init(_ channel: LanguageModelExecutorGenerationChannel) {
        self.channel = channel
    }

    func send(_ delta: String) async {
        // The providers count the tokens at the end.
        await channel.send(.response(entryID: text, action: .appendText(delta, tokenCount: 0)))
    }

    func end(_ calls: [ToolCall], _ usage: TokenUsage) async {
        for call in calls {
            let arguments = call.arguments.isEmpty ? "{}" : call.arguments
            await channel.send(
                .toolCalls(
                    entryID: self.calls,
                    action: .toolCall(id: call.id, name: call.name, action: .appendArguments(arguments, tokenCount: 0))))
        }
        let input = LanguageModelExecutorGenerationChannel.Usage.Input(
            totalTokenCount: Int(usage.inputTokens ?? 0), cachedTokenCount: Int(usage.cachedInputTokens ?? 0))
        let output = LanguageModelExecutorGenerationChannel.Usage.Output(
            totalTokenCount: Int(usage.outputTokens ?? 0), reasoningTokenCount: Int(usage.reasoningTokens ?? 0))
        // An entry for the usage alone would be an empty response.
        if calls.isEmpty {
            await channel.send(.response(entryID: text, action: .updateUsage(input: input, output: output)))
        } else {
            await channel.send(.toolCalls(entryID: self.calls, action: .updateUsage(input: input, output: output)))
        }
    }
}

extension TurnResult {
    /// The last message's calls of tools of these names.
    fileprivate func calls(of names: Set<String>) -> [ToolCall] {
        for message in messages.reversed() {
            if case .assistant(let message) = message { return message.toolCalls.filter { names.contains($0.name) } }
        }
        return []
    }
}
