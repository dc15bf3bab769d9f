import Foundation
import StepwellBindings

// The sentences for what the app's code throws.

extension StepwellError {
    /// What the turn had come to until it failed, without an `output`; nil if no turn had begun.
    public var result: TurnResult<Void>? { turn as? TurnResult<Void> }
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
