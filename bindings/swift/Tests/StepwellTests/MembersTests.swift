import Foundation
import Testing

@testable import Stepwell

private func key(_ thread: String) -> ThreadKey { ThreadKey(thread: thread) }

@Test("every option reaches the turn")
func everyOption() async throws {
    let mock = try MockLlm(MockLlm.call("order", #"{"what":"tea"}"#))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    var model = mock.model
    model.headers = ["x-mine": "1"]
    let agent = Agent(
        model: model, tools: [order], store: .inMemory(), persistAttempts: 3, partialArguments: true,
        resumption: .never)
    for try await update in agent.stream("Tea") {
        if case .toolArguments = update { break }
    }
    #expect(try await mock.requests().map { $0.headers["x-mine"] } == ["1"])
    let error = await thrown(StepwellError.self) { try await Agent(model: model, persistAttempts: 3).run("Tea") }
    #expect(error?.kind == .misuse)
}

@Test("a turn's journal goes to the app")
func journal() async throws {
    final class Lines: @unchecked Sendable {
        private let lock = NSLock()
        private var text = ""

        func add(_ lines: String) { lock.withLock { text += lines } }

        var whole: String { lock.withLock { text } }
    }
    let mock = try MockLlm(MockLlm.text("Hello"))
    let lines = Lines()
    _ = try await Agent(model: mock.model, journal: { lines.add($1) }).run("Hi")
    #expect(try replayJournal(journal: lines.whole).outcome == .success)
}

@Test("a backend makes the ids of the runs")
func runSource() async throws {
    struct Away: LocalizedError {
        var errorDescription: String? { "the backend is away" }
    }
    let mock = try MockLlm(MockLlm.text("Hello"))
    let agent = Agent(
        model: mock.model,
        runSource: { new in
            guard new.threadId == "garden" else { throw Away() }
            return "run-1"
        })
    #expect(try await agent.conversation(id: "garden").send("Hi").text == "Hello")
    let error = await thrown(StepwellError.self) { try await agent.run("Hi") }
    #expect(error?.message.contains("the backend is away") == true)
}

@Test("the app says what to leave out of a full context")
func trimContext() async throws {
    let mock = try MockLlm(MockLlm.text("Yes."))
    let agent = Agent(
        model: mock.model,
        trimContext: { overflow, messages in
            #expect(Transcript(json: messages).count == overflow.messages.count)
            return Trimmed(keep: overflow.newest(0.5), summary: "There were many x.")
        },
        contextGuard: ContextGuard(window: 1_500))
    let many = String(repeating: "x", count: 4_000)
    let conversation = try agent.conversation(history: [.user(many), .user(many), .user(many)])
    #expect(try await conversation.send("And?").outcome == .success)
    #expect(conversation.messages.count == 5)
}

@Test("a turn is begun with ids of the app's own, and said otherwise")
func startAndBranch() async throws {
    let mock = try MockLlm(MockLlm.text("One"), MockLlm.text("Two"), MockLlm.text("Three"), MockLlm.text("Four"))
    let store = SessionStore.inMemory()
    let garden = try Agent(model: mock.model, store: store).conversation(id: "garden")
    let turn = garden.stream(Start(runId: "first", text: "First"))
    try await turn.begun()
    #expect(try turn.stored() == TurnKey(thread: key("garden"), turn: "first"))
    #expect(try turn.storeTrouble() == nil && turn.revivedFrom() == nil)
    _ = try await turn.result()
    _ = try await garden.stream(Start(runId: "second", text: "Second")).result()
    _ = try await garden.branch(parent: "first", Start(runId: "other", text: "Otherwise")).result()
    #expect(garden.messages.map(\.text) == ["First", "One", "Otherwise", "Three"])
    #expect(try await garden.resend(turn: "other", "Again").result().text == "Four")
    #expect(garden.messages.map(\.text) == ["First", "One", "Again", "Four"])
    #expect(try await store.turns(thread: key("garden")).prefix(3).map(\.parent) == [nil, "first", "first"])
}

@Test("a conversation begins with a history, and is let go of")
func histories() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    let registry = RunRegistry()
    let agent = Agent(model: mock.model, registry: registry)
    do {
        let other = try agent.conversation(id: "other", history: Transcript([.user("Before")]))
        _ = try await other.send("Hi")
        #expect(other.messages.map(\.text) == ["Before", "Hi", "Hello"])
        // The same one.
        #expect(try agent.conversation(id: "other").messages == other.messages)
    }
    // The app looks after its own registry.
    #expect(registry.unreadThreads() == [key("other")])
    #expect(try agent.conversation(id: "other").messages.isEmpty)
}

@Test("a turn is looked into and suspended")
func suspended() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let agent = Agent(model: mock.model, tools: [order])
    let turn = agent.stream("Tea")
    _ = try await turn.rested()
    #expect(try await turn.messages().first?.text == "Tea")
    #expect(try await turn.sharedState() == [:])
    #expect(try await turn.interrupts().isEmpty)
    _ = try await turn.usage()
    let watching = Task {
        var events: [Event] = []
        for try await event in turn.events { events.append(event) }
        return events
    }
    let id = try await deferredCall(turn)
    let snapshot = try await turn.suspend()
    #expect(try await !watching.value.contains { if case .completed = $0 { true } else { false } })

    let suspended = await thrown(StepwellError.self) { try await turn.result() }
    #expect(suspended?.message.contains("suspended") == true)

    let revived = try agent.revive(snapshot)
    try await revived.begun()
    #expect(try revived.revivedFrom()?.first?.text == "Tea")
    try await revived.resolveCall(id, content: "here")
    #expect(try await revived.result().text == "Enjoy!")
}
