import Foundation

// What apps show and log of an error: a sentence and what to do about it, never the conversation.

extension TurnError {
    /// What kept the turn from a complete answer.
    public var problem: Problem { parts.problem }

    /// The turn as it ended: the text so far, the messages and the cost.
    public var finished: Finished { parts.finished }

    /// The kind of the problem, for an app to act on.
    public var kind: ProblemKind { problem.kind }

    /// Whether the same message may succeed another time.
    public var isRetryable: Bool { problem.retryable }
}

extension TurnError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var errorDescription: String? { problem.message }
    public var recoverySuggestion: String? { problem.advice }
    public var debugDescription: String { "TurnError.\(kind): \(description)" }
    /// The problem alone: crash reports and loggers walk through an error's mirror.
    public var customMirror: Mirror { Mirror(self, children: ["problem": problem]) }
}

extension StepwellError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    /// What went wrong.
    public var reason: String { parts.reason }

    /// What to do about it.
    public var advice: String { parts.advice }

    public var errorDescription: String? { reason }
    public var recoverySuggestion: String? { advice }
    public var debugDescription: String { "StepwellError: \(description)" }
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
