import Foundation
import Testing

@testable import Stepwell

private func history(_ count: Int, _ text: String) -> String {
    let messages = (0..<count).map { #"{"id":"old-\#($0)","role":"user","content":"\#(text)"}"# }
    return "[\(messages.joined(separator: ","))]"
}

private func texts(_ messagesJson: String) throws -> [String] {
    let messages = try JSONSerialization.jsonObject(with: Data(messagesJson.utf8)) as? [[String: Any]] ?? []
    return messages.compactMap { $0["content"] as? String }
}

private func key(_ thread: String) -> ThreadKey { ThreadKey(thread: thread) }

@Test("every option reaches the turn")
func everyOption() async throws {
    let mock = try MockLlm(MockLlm.call("order", #"{"what":"tea"}"#))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", api: nil, baseUrl: mock.baseUrl, headers: ["x-mine": "1"],
        persistAttempts: 3, partialArguments: true, resumption: .never, providersJson: nil, tools: [order],
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
        func trim(overflow: ContextOverflow, messagesJson: String) async throws -> Trimmed? {
            #expect(try texts(messagesJson).count == overflow.messages.count)
            return Trimmed(keep: overflow.newest(0.5), summary: "There were many x.")
        }
    }
    let mock = try MockLlm(MockLlm.text("Yes."))
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, contextGuard: ContextGuard(window: 1_500),
        historyJson: history(3, String(repeating: "x", count: 4_000)), trimContext: Half())
    #expect(try await agent.sendAndWait("And?").outcome == .success)
    #expect(try texts(agent.messagesJson()).count == 5)
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
    #expect(turn.storeTrouble() == nil && turn.revivedFromJson() == nil)
    _ = try await turn.finish()
    _ = try await agent.start(start: Start(runId: "second", text: "Second")).finish()
    _ = try await agent.branch(parent: "first", start: Start(runId: "other", text: "Otherwise")).finish()
    #expect(try texts(agent.messagesJson()) == ["First", "One", "Otherwise", "Three"])
    #expect(try await store.turns(thread: key("garden")).map(\.parent) == [nil, "first", "first"])
}

@Test("a thread begins with a history, and is forgotten")
func threads() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    let registry = RunRegistry()
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, registry: registry)
    let other = try agent.threadWithHistory(key: key("other"), historyJson: history(1, "Before"))
    _ = try await other.sendAndWait("Hi")
    #expect(try texts(other.messagesJson()) == ["Before", "Hi", "Hello"])
    guard case .runStarted(let handle) = try await agent.nextRegistryEvent() else {
        return #expect(Bool(false), "a run began")
    }
    #expect(handle.key == key("other"))
    #expect(registry.unreadThreads() == [key("other")])
    agent.forgetThread(key: key("other"))
    #expect(agent.thread(key: key("other")).messagesJson() == "[]")
}

@Test("a turn is looked into and suspended")
func suspended() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let agent = try Agent(provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, tools: [order])
    let turn = try agent.startTurn(text: "Tea")
    _ = try await turn.rested()
    #expect(try await texts(turn.messagesJson()).first == "Tea")
    #expect(try await turn.sharedStateJson() == "{}")
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
    #expect(try texts(#require(revived.revivedFromJson())).first == "Tea")
    let told = try await revived.messagesJson()
    let messages = try JSONSerialization.jsonObject(with: Data(told.utf8)) as? [[String: Any]]
    let calls = try #require(messages?[1]["toolCalls"] as? [[String: Any]])
    try await revived.finishCall(toolCallId: #require(calls.first?["id"] as? String), content: "here")
    let finished = try await revived.finish()
    #expect(finished.outcome == .success)
    #expect(finished.text.hasSuffix("Enjoy!"))
}
