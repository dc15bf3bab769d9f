import StepwellBindings

extension ContextOverflow {
    /// The newest messages that fill no more than this part of the room, for `Trimmed.keep`: half of it leaves room to
    /// continue for a while.
    public func newest(_ part: Double) -> [String] {
        newestMessages(overflow: self, part: part)
    }
}

extension Outcome {
    /// What kept the turn from a complete answer; nil if the answer is complete.
    public var problem: Problem? { problemOf(outcome: self) }
}

extension Event {
    /// The event as JSON: one of AG-UI in AG-UI's form, with its `type` in capitals.
    public func toJson() -> JsonValue { eventToJson(event: self) }
}
