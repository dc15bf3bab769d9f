import Foundation
import Testing

@testable import Stepwell

@Test("a thread in a file goes on in another process")
func aThreadInAFileGoesOn() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path
    let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
    do {
        let store = try await SessionStore.openSqlite(path: file)
        _ = try await Agent(model: mock.model, store: store).conversation(id: "garden").send("Hi")
    }
    let store = try await SessionStore.openSqlite(path: file)
    // The store of a conversation, where the agent has none.
    let second = try Agent(model: mock.model).conversation(id: "garden", store: store)
    #expect(try await second.load().count == 2)
    _ = try await second.send("Again")
    let threads = try await store.threads(query: ThreadQuery())
    #expect(threads.map(\.key.thread) == ["garden"])
    let key = try #require(threads.first?.key)
    #expect(try await store.turns(thread: key).count == 2)
    // The earlier turn is a part of the conversation.
    #expect(second.messages.map(\.text) == ["Hi", "Hello", "Again", "Hello"])
    #expect(try await second.delete())
    #expect(try await store.threads(query: ThreadQuery()).isEmpty)
}

@Test("a turn is its owner's until another agent revives it, and its tool is not run again")
func aTurnIsRevived() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let store = SessionStore.inMemory()
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let turn = try Agent(model: mock.model, tools: [order], store: store).conversation(id: "tea").stream("Tea")
    let snapshot = try await turn.rested()
    let id = try await deferredCall(turn)

    let again = AgentTool("order", "Orders.") { _ in "ordered twice" }
    let other = Agent(model: mock.model, tools: [again], store: store)
    #expect(try await other.recover().isEmpty)
    let revived = try other.revive(snapshot)
    try await revived.resolveCall(id, content: "the tea is here")
    var last: Event?
    for try await event in revived.events { last = event }
    #expect(last == .completed(.init(outcome: .success)))
}

@Test("a suspended turn is recovered from the store")
func aSuspendedTurnIsRecovered() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let store = SessionStore.inMemory()
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let agent = Agent(model: mock.model, tools: [order], store: store)
    let turn = try agent.conversation(id: "tea").stream("Tea")
    _ = try await turn.rested()
    let id = try await deferredCall(turn)
    _ = try await turn.suspend()
    let found = try await agent.recover()
    #expect(found.map(\.key.thread.thread) == ["tea"])
    let recovered = try #require(found.first?.turn)
    try await recovered.resolveCall(id, content: "the tea is here")
    #expect(try await recovered.result().text == "Enjoy!")
}

@Test("a run without a conversation is kept in no store")
func aRunIsNotStored() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
    let store = SessionStore.inMemory()
    let agent = Agent(model: mock.model, store: store)
    #expect(try await agent.run("Hi").text == "Hello")
    #expect(try await agent.stream("Hi").result().text == "Hello")
    #expect(try await store.threads(query: ThreadQuery()).isEmpty)
    _ = try await agent.conversation(id: "garden").send("Hi")
    #expect(try await store.threads(query: ThreadQuery()).map(\.key.thread) == ["garden"])
}
