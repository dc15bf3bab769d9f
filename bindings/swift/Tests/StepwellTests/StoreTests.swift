import Foundation
import Testing

@testable import Stepwell

private func agent(_ mock: MockLlm, _ store: SessionStore, thread: String, tools: [AgentTool] = []) throws -> Agent {
    try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, tools: tools, threadId: thread,
        store: StoreSetup(store: store))
}

@Test("a thread in a file goes on in another process")
func aThreadInAFileGoesOn() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path
    let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
    do {
        let store = try await SessionStore.openSqlite(path: file)
        for try await _ in try agent(mock, store, thread: "garden").send("Hi") {}
    }
    let store = try await SessionStore.openSqlite(path: file)
    let second = try agent(mock, store, thread: "garden")
    for try await _ in second.send("Again") {}
    let threads = try await store.threads(query: ThreadQuery())
    #expect(threads.map(\.key.thread) == ["garden"])
    let key = try #require(threads.first?.key)
    #expect(try await store.turns(thread: key).count == 2)
    // The earlier turn is a part of the conversation.
    #expect(second.messages().text.components(separatedBy: "Hello").count == 3)
}

@Test("a turn is its owner's until another agent revives it, and its tool is not run again")
func aTurnIsRevived() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let store = SessionStore.inMemory()
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let turn = try agent(mock, store, thread: "tea", tools: [order]).startTurn(text: "Tea")
    var id: String?
    while id == nil {
        for case .toolCallUpdate(let update) in await turn.nextBatch() where update.status == .deferred { id = update.toolCallId }
    }
    let snapshot = try await turn.rested()

    let again = AgentTool("order", "Orders.") { _ in "ordered twice" }
    let other = try agent(mock, store, thread: "tea", tools: [again])
    #expect(try await other.recover().isEmpty)
    let revived = try other.revive(snapshot: snapshot)
    try await revived.finishCall(toolCallId: #require(id), content: "the tea is here")
    var last: Event?
    for try await event in revived.events() { last = event }
    #expect(last == .completed(.init(outcome: .success)))
}
