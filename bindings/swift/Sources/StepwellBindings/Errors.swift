import Foundation

// What apps show and log of an error: a sentence and what to do about it, never the conversation.

/// What went wrong, in a turn or in a call.
///
///     do {
///         print(try await agent.run("Hi").text)
///     } catch let error as StepwellError where error.kind == .rateLimit {
///         …
///     }
///
/// Its `localizedDescription` is one short sentence, without anything of the conversation, and its `recoverySuggestion` the
/// advice. Where the task was cancelled, `CancellationError` is thrown instead, as always in Swift.
public struct StepwellError: Error, Sendable {
    /// What went wrong, as data.
    public let problem: Problem
    /// The provider of the model that was asked last, or of the agent's own; nil if the error is not a turn's.
    public let provider: String?
    /// What the package has as `result`.
    package let turn: (any Sendable)?

    package init(_ problem: Problem, provider: String? = nil, turn: (any Sendable)? = nil) {
        self.problem = problem
        self.provider = provider
        self.turn = turn
    }

    /// The kind of the error, for an app to act on.
    public var kind: ErrorKind { problem.kind }
    /// What went wrong, in one sentence.
    public var message: String { problem.message }
    /// What to do about it.
    public var advice: String { problem.advice }
    /// The name of the model that was asked last; nil if no turn had begun.
    public var model: String? { problem.model?.model }
    /// The HTTP status of the provider's answer, if it answered with an error.
    public var status: Int? { problem.status.map(Int.init) }
    /// Whether a later attempt may succeed.
    public var retryable: Bool { problem.retryable }

    /// The app's own mistake.
    package static func misuse(_ message: String, advice: String) -> StepwellError {
        StepwellError(Problem(kind: .misuse, message: message, advice: advice, status: nil, model: nil, retryable: false))
    }
}

extension StepwellError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var errorDescription: String? { message }
    public var recoverySuggestion: String? { advice }
    public var description: String { "\(message); \(advice)" }
    public var debugDescription: String { "StepwellError.\(kind): \(description)" }
    /// The problem alone: crash reports and loggers walk through an error's mirror.
    public var customMirror: Mirror { Mirror(self, children: ["problem": problem]) }
}

extension CallError {
    /// The error of a call, for the app.
    func forCaller() -> StepwellError {
        switch self {
        case .Store(let reason, let advice):
            StepwellError(
                Problem(
                    kind: .store, message: reason, advice: advice, status: nil, model: nil, retryable: false))
        case .Configuration(let reason, let advice), .InvalidArgument(let reason, let advice),
            .Misuse(let reason, let advice), .Unavailable(let reason, let advice), .Stale(let reason, let advice),
            .Broken(let reason, let advice), .Journal(let reason, let advice), .Snapshot(let reason, let advice):
            .misuse(reason, advice: advice)
        }
    }
}

extension StoreError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    public var errorDescription: String? { description }
    public var debugDescription: String { "StoreError: \(description)" }
}

extension ToolError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    public var errorDescription: String? { description }
    public var debugDescription: String { "ToolError: \(description)" }
}

extension CallbackError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    public var errorDescription: String? { description }
    public var debugDescription: String { "CallbackError: \(description)" }
}
