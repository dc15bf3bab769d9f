import Foundation
import Testing

@testable import Stepwell

private struct Message: Codable {
    struct Call: Codable {
        let id: String
    }

    let id: String
    let role: String
    var content: String?
    var toolCalls: [Call]?
}

private func history(_ count: Int, _ text: String) throws -> JsonValue {
    try JsonValue(encoding: (0..<count).map { Message(id: "old-\($0)", role: "user", content: text) })
}

private func texts(_ messages: JsonValue) throws -> [String] {
    try messages.decode(as: [Message].self).compactMap(\.content)
}

private func key(_ thread: String) -> ThreadKey { ThreadKey(thread: thread) }

@Test("every option reaches the turn")
func everyOption() async throws {
    let mock = try MockLlm(MockLlm.call("order", #"{"what":"tea"}"#))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", api: nil, baseUrl: mock.baseUrl, headers: ["x-mine": "1"],
        persistAttempts: 3, partialArguments: true, resumption: .never, providers: nil, tools: [order],
        store: StoreSetup(store: .inMemory()))
    let turn = try agent.startTurn(text: "Tea")
    _ = try await turn.rested()
    #expect(await turn.nextBatch().contains { if case .partialArguments = $0 { true } else { false } })
    #expect(throws: StepwellError.self) {
        try Agent(provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, persistAttempts: 3)
    }
}

@Test("a turn's journal goes to the app")
func journal() async throws {
    final class Lines: JournalSink, @unchecked Sendable {
        private let lock = NSLock()
        private var text = ""

        func write(turn: String, lines: String) throws { lock.withLock { text += lines } }

        var whole: String { lock.withLock { text } }
    }
    let mock = try MockLlm(MockLlm.text("Hello"))
    let lines = Lines()
    let agent = try Agent(provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, journal: lines)
    _ = try await agent.sendAndWait("Hi")
    #expect(try replayJournal(journal: lines.whole).outcome == .success)
}

@Test("a backend makes the ids of the runs")
func runSource() async throws {
    final class Backend: RunSource {
        func createRun(new: NewRun) async throws -> String {
            guard new.threadId == "garden" else { throw CallbackError.Failed(reason: "the backend is away") }
            return "run-1"
        }
    }
    let mock = try MockLlm(MockLlm.text("Hello"))
    func agent(_ thread: String) throws -> Agent {
        try Agent(
            provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, threadId: thread, runSource: Backend())
    }
    #expect(try await agent("garden").sendAndWait("Hi").text == "Hello")
    let failed = try await agent("elsewhere").startTurn(text: "Hi").finish()
    #expect(failed.outcome.problem?.message.contains("the backend is away") == true)
}

@Test("the app says what to leave out of a full context")
func trimContext() async throws {
    final class Half: Trimmer {
        func trim(overflow: ContextOverflow, messages: JsonValue) async throws -> Trimmed? {
            #expect(try texts(messages).count == overflow.messages.count)
            return Trimmed(keep: overflow.newest(0.5), summary: "There were many x.")
        }
    }
    let mock = try MockLlm(MockLlm.text("Yes."))
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, contextGuard: ContextGuard(window: 1_500),
        history: history(3, String(repeating: "x", count: 4_000)), trimContext: Half())
    #expect(try await agent.sendAndWait("And?").outcome == .success)
    #expect(try texts(agent.messages()).count == 5)
}

@Test("a turn is begun with ids of the app's own, and said otherwise")
func startAndBranch() async throws {
    let mock = try MockLlm(MockLlm.text("One"), MockLlm.text("Two"), MockLlm.text("Three"))
    let store = SessionStore.inMemory()
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, threadId: "garden",
        store: StoreSetup(store: store))
    let turn = try agent.start(start: Start(runId: "first", text: "First"))
    await turn.begun()
    #expect(turn.stored()?.key == TurnKey(thread: key("garden"), turn: "first"))
    #expect(turn.storeTrouble() == nil && turn.revivedFrom() == nil)
    _ = try await turn.finish()
    _ = try await agent.start(start: Start(runId: "second", text: "Second")).finish()
    _ = try await agent.branch(parent: "first", start: Start(runId: "other", text: "Otherwise")).finish()
    #expect(try texts(agent.messages()) == ["First", "One", "Otherwise", "Three"])
    #expect(try await store.turns(thread: key("garden")).map(\.parent) == [nil, "first", "first"])
}

@Test("a thread begins with a history, and is forgotten")
func threads() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    let registry = RunRegistry()
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, registry: registry)
    let other = try agent.threadWithHistory(key: key("other"), history: history(1, "Before"))
    _ = try await other.sendAndWait("Hi")
    #expect(try texts(other.messages()) == ["Before", "Hi", "Hello"])
    guard case .runStarted(let started) = try await agent.nextRegistryEvent() else {
        return #expect(Bool(false), "a run began")
    }
    #expect(started.handle.key == key("other"))
    #expect(registry.unreadThreads() == [key("other")])
    agent.forgetThread(key: key("other"))
    #expect(agent.thread(key: key("other")).messages() == [])
}

@Test("a turn is looked into and suspended")
func suspended() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let agent = try Agent(provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, tools: [order])
    let turn = try agent.startTurn(text: "Tea")
    _ = try await turn.rested()
    #expect(try await texts(turn.messages()).first == "Tea")
    #expect(try await turn.sharedState() == [:])
    #expect(try await turn.interrupts().isEmpty)
    _ = try await turn.usage()
    let watching = Task {
        var events: [Event] = []
        while case let more = await turn.nextBatch(), !more.isEmpty { events += more }
        return events
    }
    let snapshot = try await turn.suspend()
    #expect(await !watching.value.contains { if case .completed = $0 { true } else { false } })

    let revived = try agent.revive(snapshot: snapshot)
    await revived.begun()
    #expect(try texts(#require(revived.revivedFrom())).first == "Tea")
    let messages = try await revived.messages().decode(as: [Message].self)
    try await revived.finishCall(toolCallId: #require(messages[1].toolCalls?.first?.id), content: "here")
    let finished = try await revived.finish()
    #expect(finished.outcome == .success)
    #expect(finished.text.hasSuffix("Enjoy!"))
}
