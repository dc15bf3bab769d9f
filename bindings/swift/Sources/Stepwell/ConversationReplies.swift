import StepwellBindings

// What a conversation's turn waits for, and the replies to it.

extension ConversationWith {
    /// Returns what the conversation's turn waits for, whichever process drives the turn: approvals and questions for the
    /// user, and results of deferred calls. Empty if no turn is under way.
    public func pending() async throws -> [Pending] { try await inner.pending() }

    /// Allows the call that waits for the user's approval under this id, with these arguments instead of the model's if
    /// there are any. The model is informed of a change.
    ///
    /// The turn may be in another process that shares the store. If no process drives it any more, it continues in this
    /// one, where its tools are given `deps`. The same holds for the other replies.
    public func approve(_ id: String, arguments: JsonValue? = nil, deps: Deps) async throws {
        try await reply(deps) { try await $0.approve(id: id, arguments: arguments) }
    }

    /// Denies the call that waits for approval under this id, or declines the question. The model, or the tool that asked,
    /// gets the reason.
    public func deny(_ id: String, reason: String? = nil, deps: Deps) async throws {
        try await reply(deps) { try await $0.deny(id: id, reason: reason) }
    }

    /// Answers the question of a running tool that waits under this id. The value fits the question's schema.
    public func answer(_ id: String, _ value: JsonValue, deps: Deps) async throws {
        try await reply(deps) { try await $0.answer(id: id, value: value) }
    }

    /// Gives the turn the result of a deferred call.
    public func resolveCall(_ toolCallId: String, content: String, deps: Deps) async throws {
        try await reply(deps) { try await $0.resolveCall(toolCallId: toolCallId, content: content) }
    }

    /// Gives the turn a result that is more than text: AG-UI content parts, such as pictures.
    public func resolveCall(_ toolCallId: String, parts: JsonValue, deps: Deps) async throws {
        try await reply(deps) { try await $0.resolveCallParts(toolCallId: toolCallId, parts: parts) }
    }

    /// Reports that a deferred call failed; the model is shown the message.
    public func failCall(
        _ toolCallId: String, message: String, kind: ToolFailureKind? = nil, deps: Deps
    ) async throws {
        try await reply(deps) { try await $0.failCall(toolCallId: toolCallId, message: message, kind: kind) }
    }

    private func reply(_ deps: Deps, _ reply: (FfiConversation) async throws -> Void) async throws {
        let caller = Caller(deps: deps)
        let (registry, key) = (agent.registry(), key)
        let isRunning: @Sendable () -> Bool = { registry.running().contains { $0.key == key } }
        // Such a turn has a caller of its own.
        let wasRunning = isRunning()
        do {
            try await reply(agent.within(caller: caller.id).conversation(key: key))
        } catch {
            caller.end()
            throw error
        }
        if wasRunning { return caller.end() }
        // Nothing reports the end of a turn that a reply continues, and its tools need `deps` until then.
        Task.detached {
            while isRunning() { try? await Task.sleep(for: .seconds(1)) }
            caller.end()
        }
    }
}

extension SessionStore {
    /// Returns what the unfinished turn of the conversation with this id waits for, in any process and without the agent:
    /// approvals and questions for the user, and results of deferred calls. `Conversation` takes the replies.
    public func pending(_ id: String) async throws -> [Pending] {
        try await pending(thread: ThreadKey(thread: id))
    }
}
