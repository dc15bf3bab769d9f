import Testing

@testable import Stepwell

private let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }

/// What the user does while a turn is under way.
@Suite struct VerbsTests {
    private let mock: MockLlm
    private let conversation: Conversation

    init() throws {
        mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("I see."))
        conversation = try Agent(model: mock.model, tools: [order]).conversation()
    }

    @Test func aCallFails() async throws {
        let turn = conversation.stream("Tea")
        _ = try await turn.rested()
        try await turn.failCall(deferredCall(turn), message: "sold out")
        #expect(try await turn.result().text == "I see.")
        #expect(try await mock.requests().last?.texts.last?.contains("sold out") == true)
    }

    @Test func aCallIsCancelled() async throws {
        let turn = conversation.stream("Tea")
        _ = try await turn.rested()
        try await turn.cancelCall(deferredCall(turn))
        #expect(try await turn.result().text == "I see.")
    }

    @Test func aMessageIsSentMeanwhile() async throws {
        let turn = conversation.stream("Tea")
        _ = try await turn.rested()
        #expect(try await !turn.steer("With milk").isEmpty)
        try await turn.resolveCall(deferredCall(turn), content: "ordered")
        #expect(try await turn.result().text == "I see.")
        #expect(try await mock.requests().last?.texts.contains("With milk") == true)
    }

    @Test func theConversationIsCancelled() async throws {
        let turn = conversation.stream("Tea")
        _ = try await turn.rested()
        conversation.cancel()
        let error = await thrown(StepwellError.self) { try await turn.result() }
        #expect(error?.kind == .cancelled)
        #expect(error?.result?.stopReason == .cancelled)
        // The verbs say that it is over.
        await #expect(throws: StepwellError.self) { try await turn.steer("With milk") }
    }
}
