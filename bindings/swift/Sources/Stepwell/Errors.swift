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
    /// The provider of the model; nil if the error is not a turn's.
    public let provider: String?
    /// What the turn had come to until it failed, without an `output`; nil if no turn had begun.
    public let result: TurnResult<Void>?

    init(_ problem: Problem, provider: String? = nil, result: TurnResult<Void>? = nil) {
        self.problem = problem
        self.provider = provider
        self.result = result
    }

    /// The kind of the error, for an app to act on.
    public var kind: ErrorKind { problem.kind }
    /// What went wrong, in one sentence.
    public var message: String { problem.message }
    /// What to do about it.
    public var advice: String { problem.advice }
    /// The HTTP status of the provider's answer, if it answered with an error.
    public var status: Int? { problem.status.map(Int.init) }
    /// Whether a later attempt may succeed.
    public var retryable: Bool { problem.retryable }

    /// The app's own mistake.
    static func misuse(_ message: String, advice: String) -> StepwellError {
        StepwellError(Problem(kind: .misuse, message: message, advice: advice, status: nil, retryable: false))
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
            StepwellError(Problem(kind: .store, message: reason, advice: advice, status: nil, retryable: false))
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

extension HookRefusal: LocalizedError {
    public var errorDescription: String? { reason }
}

extension SchemaError: LocalizedError {
    public var errorDescription: String? { description }
}

/// An error of the app's code in a sentence, for the model or for an outcome. A bridged `NSError` prints its
/// `userInfo`, which holds addresses with their queries, so its own sentence is used instead.
func sentence(of error: any Error) -> String {
    if let error = error as? any LocalizedError, let description = error.errorDescription {
        return description
    }
    if let error = error as? DecodingError {
        return reason(of: error)
    }
    if error is any CustomNSError || type(of: error) is NSError.Type {
        let error = error as NSError
        return "\(error.localizedDescription) (\(error.domain) \(error.code))"
    }
    return String(describing: error)
}

/// The part that does not fit a type, and its place, for the model to read.
func reason(of error: DecodingError) -> String {
    let context: DecodingError.Context
    switch error {
    case .typeMismatch(_, let found), .valueNotFound(_, let found), .keyNotFound(_, let found), .dataCorrupted(let found):
        context = found
    @unknown default:
        return "it does not fit the type"
    }
    // Only JSON is decoded here: the decoder reports otherwise for a number that its type has no room for.
    let isNumber = context.debugDescription == "The given data was not valid JSON."
    let text = isNumber ? "a number is beyond what its type holds" : context.debugDescription
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
    return path.isEmpty ? text : "\(text) (at \(path.joined(separator: ".")))"
}
