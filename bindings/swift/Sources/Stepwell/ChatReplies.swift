import StepwellBindings

// What the user answers in a chat.

@available(iOS 17, macOS 14, *)
extension ChatSessionWith {
    /// Lets a call run, by the id of what is pending; with other arguments than the model's if they are given. A turn that
    /// was loaded from the store, and that no process drives, continues here.
    ///
    /// - Throws: `StepwellError` where nothing waits under the id, or the arguments do not fit the tool. The same holds for
    ///   the other replies.
    public func approve(_ id: String, arguments: JsonValue? = nil) async throws {
        if let turn { return try await turn.approve(id, arguments: arguments) }
        try await conversation.approve(id, arguments: arguments, deps: deps)
        settle(id)
    }

    /// Refuses what is pending under the id: a call may not run, with a reason for the model; a question of a tool or of an
    /// AG-UI agent has no answer.
    public func deny(_ id: String, reason: String? = nil) async throws {
        if let turn {
            if try await resume(turn, ResumeEntry(interruptId: id, status: .cancelled, payload: nil)) { return }
            return try await turn.deny(id, reason: reason)
        }
        try await conversation.deny(id, reason: reason, deps: deps)
        settle(id)
    }

    /// Answers a question of a tool or of an AG-UI agent, by its id. The value fits its schema. An AG-UI agent takes the
    /// answers to all its questions at once: the turn continues with the last of them.
    public func answer(_ id: String, _ value: JsonValue) async throws {
        if let turn {
            if try await resume(turn, ResumeEntry(interruptId: id, status: .resolved, payload: value)) { return }
            return try await turn.answer(id, value)
        }
        try await conversation.answer(id, value, deps: deps)
        settle(id)
    }

    func underWay() throws -> Turn<String> {
        guard let turn else { throw StepwellError.misuse("no turn of this chat is under way", advice: "call `send`") }
        return turn
    }

    /// Answers an AG-UI agent. Returns false if it has not asked this.
    private func resume(_ turn: Turn<String>, _ entry: ResumeEntry) async throws -> Bool {
        let asked = state.interrupts.map(\.id)
        guard asked.contains(entry.interruptId) else { return false }
        answers[entry.interruptId] = entry
        let all = asked.compactMap { answers[$0] }
        guard all.count == asked.count else { return true }
        answers = [:]
        try await turn.resume(all)
        return true
    }
}
