import StepwellBindings

/// Why a turn ended. All but `.complete` are those of an error's `result`.
public enum StopReason: Sendable, Hashable {
    /// The answer is complete.
    case complete
    /// The model's limit of tokens cut the answer off.
    case maxTokens
    /// The provider's filter stopped the answer.
    case contentFilter
    /// The model refused to answer.
    case refused
    /// The model ended without text, a tool call or media.
    case empty
    /// A limit of the turn was reached.
    case limitReached
    /// The turn was cancelled.
    case cancelled
    /// The stream ended before the answer did.
    case truncated
    /// Something failed.
    case failed

    init(_ outcome: Outcome) {
        switch outcome {
        case .success: self = .complete
        case .cancelled: self = .cancelled
        case .truncated: self = .truncated
        case .failed: self = .failed
        case .limitReached: self = .limitReached
        case .incomplete(let incomplete):
            switch incomplete.reason {
            case .length: self = .maxTokens
            case .contentFilter: self = .contentFilter
            case .refusal: self = .refused
            case .limit: self = .limitReached
            case .empty: self = .empty
            }
        }
    }
}

/// A turn that is over, or what there was of it when it failed: the `result` of a `StepwellError`.
public struct TurnResult<Output: Sendable>: Sendable {
    /// The answer: of the type that was asked for; the `text` where none was.
    public let output: Output
    /// The text of the model's last message.
    public let text: String
    /// All that the model said in the turn, as it was shown: with a line break between the texts before and after tool
    /// calls.
    public let fullText: String
    /// The conversation after the turn.
    public let messages: Transcript
    /// The tokens of the turn and what they cost, over all its hops.
    public let usage: TokenUsage
    /// Why the turn ended.
    public let stopReason: StopReason
    /// The same in detail.
    public let outcome: Outcome
    /// How many requests to the model the turn took.
    public let hops: Int

    /// What the turn cost, in US dollars; nil if the price is not known.
    public var cost: Double? { usage.cost }

    init(_ finished: Finished, _ read: (Finished, String) throws -> Output) rethrows {
        messages = Transcript(json: finished.messages)
        let last = messages.last { if case .tool = $0 { false } else { true } }
        text = if case .assistant(let message)? = last { message.text } else { "" }
        output = try read(finished, text)
        fullText = finished.text
        usage = finished.usage
        stopReason = StopReason(finished.outcome)
        outcome = finished.outcome
        hops = Int(finished.hops)
    }
}

extension TurnResult: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Nothing of the conversation.
    public var description: String { "TurnResult(stopReason: \(stopReason), hops: \(hops), usage: \(usage))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror {
        Mirror(self, children: ["stopReason": stopReason, "hops": hops, "usage": usage] as KeyValuePairs<String, Any>)
    }
}
