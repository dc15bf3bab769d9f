// The part of Apple's FoundationModels (iOS 27) that StepwellFoundationModels uses, declared from Apple's documentation for
// systems without the framework. No model is behind it: tests script the sessions, and read what an executor sends.

import Foundation

/// See Apple's `LanguageModel`.
public protocol LanguageModel: Sendable {
    associatedtype Executor: LanguageModelExecutor where Self == Self.Executor.Model
    var capabilities: LanguageModelCapabilities { get }
    var executorConfiguration: Executor.Configuration { get }
}

/// See Apple's `LanguageModelCapabilities`.
public struct LanguageModelCapabilities: Sendable {
    public struct Capability: Sendable, Hashable {
        let name: String
        public static let guidedGeneration = Capability(name: "guidedGeneration")
        public static let toolCalling = Capability(name: "toolCalling")
        public static let vision = Capability(name: "vision")
        public static let reasoning = Capability(name: "reasoning")
    }

    private let all: [Capability]

    public init(_ capabilities: [Capability]) { all = capabilities }
    public func contains(_ capability: Capability) -> Bool { all.contains(capability) }
}

/// See Apple's `LanguageModelExecutor`.
public protocol LanguageModelExecutor: Sendable {
    associatedtype Configuration: Hashable, Sendable
    associatedtype Model: LanguageModel
    init(configuration: Configuration) throws
    func respond(
        to request: LanguageModelExecutorGenerationRequest, model: Model,
        streamingInto channel: LanguageModelExecutorGenerationChannel
    ) async throws
}

/// See Apple's `LanguageModelExecutorGenerationRequest`.
public struct LanguageModelExecutorGenerationRequest: Sendable {
    public var transcript: Transcript
    public var enabledToolDefinitions: [Transcript.ToolDefinition]
    public var schema: GenerationSchema?
    public var generationOptions: GenerationOptions

    package init(
        transcript: Transcript, enabledTools: [Transcript.ToolDefinition] = [], schema: GenerationSchema? = nil,
        generationOptions: GenerationOptions = GenerationOptions()
    ) {
        self.transcript = transcript
        enabledToolDefinitions = enabledTools
        self.schema = schema
        self.generationOptions = generationOptions
    }
}

/// See Apple's `LanguageModelExecutorGenerationChannel`.
public struct LanguageModelExecutorGenerationChannel: Sendable {
    public struct Usage: Sendable {
        public struct Input: Sendable, Hashable {
            package let totalTokenCount, cachedTokenCount: Int
            public init(totalTokenCount: Int, cachedTokenCount: Int) {
                (self.totalTokenCount, self.cachedTokenCount) = (totalTokenCount, cachedTokenCount)
            }
        }
        public struct Output: Sendable, Hashable {
            package let totalTokenCount, reasoningTokenCount: Int
            public init(totalTokenCount: Int, reasoningTokenCount: Int) {
                (self.totalTokenCount, self.reasoningTokenCount) = (totalTokenCount, reasoningTokenCount)
            }
        }
    }

    public struct Response: Sendable {
        public struct Action: Sendable {
            let sent: Sent
            public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Action {
                Action(sent: .text(text))
            }
            public static func updateUsage(input: Usage.Input, output: Usage.Output) -> Action {
                Action(sent: .usage(input, output))
            }
        }
    }

    public struct ToolCalls: Sendable {
        public struct ToolCall: Sendable {
            public struct Action: Sendable {
                let arguments: String
                public static func appendArguments(_ content: String, tokenCount: Int) -> Action { Action(arguments: content) }
            }
        }
        public struct Action: Sendable {
            let sent: Sent
            public static func toolCall(id: String, name: String, action: ToolCall.Action) -> Action {
                Action(sent: .call(id: id, name: name, arguments: action.arguments))
            }
            public static func updateUsage(input: Usage.Input, output: Usage.Output) -> Action {
                Action(sent: .usage(input, output))
            }
        }
    }

    public struct Event: Sendable {
        let sent: Sent
        public static func response(entryID: String? = nil, action: Response.Action) -> Event { Event(sent: action.sent) }
        public static func toolCalls(entryID: String? = nil, action: ToolCalls.Action) -> Event { Event(sent: action.sent) }
    }

    /// An event as tests read it.
    package enum Sent: Sendable, Hashable {
        case text(String)
        case call(id: String, name: String, arguments: String)
        case usage(Usage.Input, Usage.Output)
    }

    private let record: @Sendable (Sent) async -> Void

    package init(_ record: @escaping @Sendable (Sent) async -> Void) { self.record = record }
    public func send(_ event: Event) async { await record(event.sent) }
}

/// See Apple's `LanguageModelError`.
public enum LanguageModelError: Error {
    public struct ContextSizeExceeded: Sendable {
        public init(contextSize: Int, tokenCount: Int, debugDescription: String) {}
    }
    public struct RateLimited: Sendable {
        public init(resetDate: Date?, debugDescription: String) {}
    }
    public struct GuardrailViolation: Sendable {
        public init(debugDescription: String) {}
    }
    public struct Refusal: Sendable {
        public init(explanation: String, debugDescription: String) {}
    }
    public struct Timeout: Sendable {
        public init(debugDescription: String) {}
    }

    case contextSizeExceeded(ContextSizeExceeded)
    case rateLimited(RateLimited)
    case guardrailViolation(GuardrailViolation)
    case refusal(Refusal)
    case timeout(Timeout)
}
