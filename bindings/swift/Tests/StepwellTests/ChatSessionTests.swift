import Foundation
import Observation
import Testing

@testable import Stepwell
@testable import StepwellBindings

private func text(_ message: ChatMessage) -> String {
    message.parts.map { part in
        switch part {
        case .text(let it): it.text
        case .tool(let it): "[\(it.card.label) \(it.card.status)]"
        default: "…"
        }
    }.joined(separator: " ")
}

private let speeds: JsonValue = ["enum": ["today", "this week"]]

@MainActor
private final class Screen {
    var shown: [ChatState] = []

    /// Notes each change of the state, as SwiftUI does: it is asked to look again.
    func watch(_ chat: ChatSession) {
        withObservationTracking {
            shown.append(chat.state)
        } onChange: {
            Task { @MainActor in self.watch(chat) }
        }
    }
}

/// Waits until something is so.
@MainActor
private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

/// Sends a message in a task of its own, and shows an error that it throws at once.
@MainActor
private func sending(_ chat: ChatSession, _ text: String) -> Task<String?, any Error> {
    Task {
        do {
            return try await chat.send(text)?.text
        } catch {
            Issue.record(error)
            throw error
        }
    }
}

@MainActor
@Suite struct ChatSessionTests {
    private func chat(_ mock: MockLlm, _ tools: [AgentTool] = [], store: SessionStore? = nil) throws -> ChatSession {
        try ChatSession(Agent(model: mock.model, tools: tools, store: store).conversation(id: "chat"))
    }

    @Test func aMessageIsShownAndItsAnswer() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), MockLlm.text("Again"))
        let chat = try chat(mock)
        let screen = Screen()
        screen.watch(chat)
        #expect(try await chat.send("Hi")?.text == "Hello")
        #expect(chat.state.messages.map(text) == ["Hi", "Hello"])
        #expect(chat.state.messages.map(\.role) == [.user, .assistant])
        #expect(chat.state.status == .ready && !chat.isBusy && chat.state.usage.outputTokens != nil)
        _ = try await chat.send("And?")
        #expect(chat.state.messages.map(text) == ["Hi", "Hello", "And?", "Again"])
        await until { screen.shown.last == chat.state }
        #expect(screen.shown.count > 1)
        // The screen and the conversation have the same messages.
        #expect(chat.conversation.messages.map(\.id) == chat.state.messages.map(\.id))
    }

    @Test func aCallIsAllowedOnTheScreen() async throws {
        let mock = try MockLlm(MockLlm.call("pay", "{}"), MockLlm.text("Paid."))
        let pay = AgentTool("pay", "Pays.", requiresApproval: true) { call in "paid \(call.arguments.text)" }
        let chat = try chat(mock, [pay])
        let sent = sending(chat, "Pay")
        await until { chat.state.status == .waitingForUser }
        let waiting = try #require(chat.state.pending.first)
        #expect(waiting.tool == "pay")
        let busy = await thrown(StepwellError.self) { try await chat.send("Still there?") }
        #expect(busy?.kind == .busy)
        let unknown = await thrown(StepwellError.self) { try await chat.approve("approve:7:7") }
        #expect(unknown?.kind == .misuse)
        try await chat.approve(waiting.id)
        #expect(try await sent.value == "Paid.")
        #expect(chat.state.pending.isEmpty)
        #expect(chat.state.messages.map(text) == ["Pay", "[pay completed] Paid."])
    }

    @Test func aCallIsRefusedAndAQuestionIsAnswered() async throws {
        let mock = try MockLlm(MockLlm.call("pay", "{}"), MockLlm.call("ship", "{}"), MockLlm.text("I see."))
        let pay = AgentTool("pay", "Pays.", requiresApproval: true) { _ in "paid" }
        let ship = AgentTool("ship", "Ships.") { (_: ToolInvocation, context: ToolContext) in
            guard case .given(let speed) = try await context.ask(question: Question(message: "How fast?", schema: speeds))
            else { return "stays" }
            return "leaves \(try speed.decode(as: String.self))"
        }
        let chat = try chat(mock, [pay, ship])
        let sent = sending(chat, "Pay and ship")
        await until { chat.state.pending.first?.tool == "pay" }
        try await chat.deny(chat.state.pending[0].id, reason: "not on Sundays")
        await until { chat.state.pending.first?.tool == "ship" }
        try await chat.answer(chat.state.pending[0].id, "today")
        #expect(try await sent.value != nil)
        let told = try await mock.requests().last?.texts ?? []
        #expect(told.contains { $0.contains("not on Sundays") } && told.last == "leaves today")
    }

    @Test func anAgentsQuestionsAreAnsweredTogether() async throws {
        let started = #"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#
        let asks =
            #"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":["#
            + #"{"id":"where","reason":"input_required"},{"id":"when","reason":"input_required"}]}}"#
        let mock = try MockLlm(
            #"{"bare":true,"steps":[{"raw_frame":\#(started)},{"raw_frame":\#(asks)}]}"#, MockLlm.text("Booked."))
        let chat = try ChatSession(Agent(model: mock.agUi).conversation())
        let sent = sending(chat, "Book it")
        await until { chat.state.interrupts.count == 2 }
        #expect(chat.state.status == .waitingForUser)
        try await chat.answer("where", "Rome")
        #expect(chat.answers.keys.sorted() == ["where"])
        try await chat.deny("when")
        #expect(chat.answers.isEmpty)
        #expect(try await sent.value == "Booked.")
    }

    @Test func aFailedTurnIsTriedAgain() async throws {
        let mock = try MockLlm(#"{"status":400,"error":"No"}"#, MockLlm.text("Hello"))
        let chat = try chat(mock)
        #expect(try await chat.send("Hi") == nil)
        #expect(chat.state.status == .error && chat.state.problem?.kind == .invalidRequest)
        #expect(try await chat.retry()?.text == "Hello")
        #expect(chat.state.problem == nil)
        #expect(chat.state.messages.map(text) == ["Hi", "Hello"])
    }

    @Test func aTurnIsStoppedAndWhatArrivedStays() async throws {
        let mock = try MockLlm(MockLlm.stall("Once"))
        let chat = try chat(mock)
        let sent = sending(chat, "Tell")
        await until { chat.state.messages.last.map(text) == "Once" }
        chat.cancel()
        #expect(try await sent.value == nil)
        #expect(chat.state.status == .ready && chat.state.problem == nil)
        #expect(chat.state.messages.map(text) == ["Tell", "Once"])
    }

    @Test func aMessageIsSentMeanwhile() async throws {
        let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("I see."))
        let order = AgentTool("order", "Orders.", requiresApproval: true) { _ in "ordered" }
        let chat = try chat(mock, [order])
        let idle = await thrown(StepwellError.self) { try await chat.steer("With milk") }
        #expect(idle?.kind == .misuse)
        let sent = sending(chat, "Tea")
        await until { !chat.state.pending.isEmpty }
        try await chat.steer("With milk")
        try await chat.approve(chat.state.pending[0].id)
        _ = try await sent.value
        #expect(chat.state.messages.map(text).contains("With milk"))
    }

    @Test func aStoredChatIsLoadedAndItsTurnFollowed() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
        let order = AgentTool("order", "Orders.", requiresApproval: true) { _ in "ordered" }
        let store = SessionStore.inMemory()
        let agent = Agent(model: mock.model, tools: [order], store: store)
        do {
            let earlier = try agent.conversation(id: "chat")
            _ = try await earlier.send("Hi")
            let turn = earlier.stream("Tea")
            _ = try await turn.rested()
            _ = try await turn.suspend()
        }
        let chat = try chat(mock, [order], store: store)
        #expect(chat.state.messages.isEmpty)
        try await chat.load()
        #expect(chat.state.messages.map(text).prefix(2) == ["Hi", "Hello"])
        #expect(chat.state.pending.map(\.tool) == ["order"])
        let left = try #require(try await agent.recover().first?.turn)
        let followed = Task { try await chat.follow(left) }
        await until { chat.turn != nil && !chat.state.pending.isEmpty }
        #expect(chat.state.messages.map(text).prefix(3) == ["Hi", "Hello", "Tea"])
        try await chat.approve(chat.state.pending[0].id)
        #expect(try await followed.value?.text == "Enjoy!")
        #expect(chat.state.messages.map(text).last == "[order completed] Enjoy!")
    }

    /// The process is gone in the middle of a turn: the next one opens the screen on the file.
    @Test func aScreenOpensOnAStoredConversationAsItWas() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
        let order = AgentTool("order", "Orders.", requiresApproval: true) { _ in "ordered" }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path
        let before: ChatState
        do {
            let live = try await chat(mock, [order], store: .openSqlite(path: file))
            _ = try await live.send("Hi")
            let sent = Task { try? await live.send("Tea") }
            await until { !live.state.pending.isEmpty }
            before = live.state
            _ = try await live.turn?.suspend()
            _ = await sent.value
        }
        let store = try await SessionStore.openSqlite(path: file)
        let chat = try chat(mock, [order], store: store)
        try await chat.load()
        #expect(chat.state.messages.map(text) == before.messages.map(text))
        #expect(chat.state.messages.map(\.id) == before.messages.map(\.id))
        #expect(chat.state.messages.last.map(text) == "[order awaitingApproval]")
        #expect(chat.state.pending == before.pending && chat.state.status == .waitingForUser)

        let callers = Caller.count
        try await chat.approve(before.pending[0].id)
        #expect(chat.state.pending.isEmpty && chat.state.status == .ready)
        while try await store.view(thread: ThreadKey(thread: "chat")).turns.last?.status != .complete { await Task.yield() }
        let later = try self.chat(mock, [order], store: store)
        try await later.load()
        #expect(later.state.messages.last.map(text) == "[order completed] Enjoy!")
        while Caller.count > callers { await Task.yield() }
    }

    @Test func whatCannotBeginIsThrown() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"))
        let chat = try chat(mock)
        chat.options.tools = [AgentTool("no name!", "Nothing.") { _ in "" }]
        let error = await thrown(StepwellError.self) { try await chat.send("Hi") }
        #expect(error?.kind == .misuse && chat.state.messages.isEmpty && !chat.isBusy)
        chat.options.tools = []
        #expect(try await chat.send("Hi")?.text == "Hello")
    }
}
