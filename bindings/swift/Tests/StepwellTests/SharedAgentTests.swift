import Foundation
import Testing

@testable import Stepwell

private let (users, runs) = (100, 10)

/// One agent for all users of a service: it remembers nothing, and its conversations are let go of.
@Suite struct SharedAgentTests {
    @Test func aThousandRunsOfAHundredUsersAreNotMixed() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
        let agent = Agent(model: mock.model, instructions: "Be kind.")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for prompt in (0..<users).flatMap({ user in (0..<runs).map { "user \(user), run \($0)" } }) {
                group.addTask {
                    let result = try await agent.run(prompt)
                    #expect(result.stopReason == .complete && result.text == "Hello")
                    #expect(result.messages.map(\.text) == [prompt, "Hello"])
                }
            }
            try await group.waitForAll()
        }
        let sent = try await mock.requests().map(\.texts)
        let expected = (0..<users).flatMap { user in (0..<runs).map { ["Be kind.", "user \(user), run \($0)"] } }
        #expect(sent.count == users * runs)
        #expect(Set(sent) == Set(expected))
        #expect(try agent.engine.agent().registry().unreadThreads().isEmpty)
        #expect(try agent.engine.agent().registry().running().isEmpty)
    }

    @Test func conversationsOfOneAgentRememberTheirOwn() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
        let agent = Agent(model: mock.model)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in 0..<10 {
                group.addTask {
                    do {
                        let conversation = try agent.conversation(id: "user-\(user)")
                        for number in 0..<3 { _ = try await conversation.send("user \(user), message \(number)") }
                        let said = conversation.messages.map(\.text).filter { $0 != "Hello" }
                        #expect(said == (0..<3).map { "user \(user), message \($0)" })
                    }
                    // What nobody holds is not remembered.
                    #expect(try agent.conversation(id: "user-\(user)").messages.isEmpty)
                }
            }
            try await group.waitForAll()
        }
        for request in try await mock.requests() {
            let senders = Set(request.texts.filter { $0 != "Hello" }.map { $0.prefix { $0 != "," } })
            #expect(senders.count == 1, "\(request.texts)")
        }
    }

    @Test func nothingIsLeftOfRunsAndConversations() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
        let agent = Agent(model: mock.model)
        for number in 0..<100 {
            _ = try await agent.run("Hi")
            // Each with a store of its own.
            _ = try await agent.conversation(id: "c-\(number)", store: .inMemory()).send("Hi")
            _ = try await agent.conversation(id: "c-\(number)").send("Hi")
        }
        let registry = try agent.engine.agent().registry()
        #expect(registry.unreadThreads().isEmpty && registry.running().isEmpty)
    }

    @Test func conversationsOfOneStoreShareIt() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
        let store = SessionStore.inMemory()
        let agent = Agent(model: mock.model)
        let first = try agent.conversation(id: "garden", store: store)
        let second = try agent.conversation(id: "garden", store: store)
        _ = try await first.send("Hi")
        #expect(second.messages.count == 2)
        // That of the agent itself has nothing of it.
        #expect(try agent.conversation(id: "garden").messages.isEmpty)
    }

    @Test func anAgentWithAnotherModelIsTheSameOtherwise() async throws {
        let (one, other) = (try MockLlm(MockLlm.text("One")), try MockLlm(MockLlm.text("Other")))
        let agent = Agent(model: one.model, instructions: "Be kind.")
        #expect(try await agent.withModel(other.model).run("Hi").text == "Other")
        #expect(try await agent.run("Hi").text == "One")
        #expect(try await other.requests().map(\.system) == ["Be kind."])
    }
}
