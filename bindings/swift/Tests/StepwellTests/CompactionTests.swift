import Foundation
import Testing

@testable import Stepwell

/// Agents that compact long conversations before a request.
@Suite struct CompactionTests {
    /// What nearly fills the context of the agents.
    private let history: [Message] = (0..<3).map { _ in .user(String(repeating: "x", count: 2_000)) }
    private let small = ContextGuard(window: 1_600)

    @Test("a cheap model summarises, and the next turn begins from there")
    func summary() async throws {
        let mock = try MockLlm(MockLlm.text("Yes."), MockLlm.text("Still yes."), MockLlm.text("All of it."))
        let many = #"{"steps":[{"text":"There were many x."}],"usage":{"input":500,"output":10}}"#
        let writer = try MockLlm(many, MockLlm.text("All x."))
        let agent = Agent(model: mock.named("large"), summaryModel: writer.named("cheap"), contextGuard: small)
        let conversation = try agent.conversation(history: Transcript(history))
        let turn = conversation.stream("And?")
        var summaries: [String?] = []
        for try await update in turn {
            if case .contextTrimmed(let trimmed) = update { summaries.append(trimmed.compaction.summary) }
        }
        let result = try await turn.result()
        #expect(result.text == "Yes.")
        // What the summary has cost is the turn's.
        #expect((result.usage.inputTokens ?? 0) >= 500)
        #expect(summaries == ["There were many x."])
        #expect(try await conversation.send("Sure?").text == "Still yes.")
        #expect(try await writer.requests().count == 1)
        #expect(try await mock.requests().allSatisfy { $0.texts.joined().contains("There were many x.") })
        let whole = try await conversation.send("Sure?", options: RunOptions(wholeHistory: true))
        #expect(whole.text == "All of it.")
        #expect(try await mock.requests().last?.texts.joined().contains("All x.") == true)
    }

    @Test("an agent writes its own summaries, as it is told")
    func ownSummary() async throws {
        let mock = try MockLlm(MockLlm.text("Many x."), MockLlm.text("Yes."))
        let policy = CompactionPolicy(ways: [.dropResults(keep: 2), .summary(instructions: "Count the x.", keep: 0.1)], at: 0.5)
        let agent = Agent(model: mock.model, contextGuard: small, compaction: policy)
        #expect(try await agent.conversation(history: Transcript(history)).send("And?").text == "Yes.")
        let requests = try await mock.requests()
        #expect(requests.first?.system == "Count the x.")
        #expect(requests.last?.texts.joined().contains("Many x.") == true)
    }

    @Test("the app compacts")
    func host() async throws {
        let mock = try MockLlm(MockLlm.text("Yes."), MockLlm.text("Still yes."))
        let agent = Agent(
            model: mock.model,
            trimContext: { overflow, _ in
                Trimmed(keep: overflow.newest(0.2), summary: "\(overflow.messages.count) messages of many x.")
            },
            contextGuard: small, compaction: CompactionPolicy(ways: [.host]))
        let conversation = try agent.conversation(history: Transcript(history))
        _ = try await conversation.send("And?")
        _ = try await conversation.send("Sure?")
        #expect(try await mock.requests().allSatisfy { $0.texts.joined().contains("4 messages of many x.") })
    }

    @Test("what cannot compact is refused")
    func refused() async throws {
        let agents = [
            Agent(model: "ollama:m", compaction: CompactionPolicy(ways: [.host])),
            Agent(model: "ollama:m", summaryModel: .agUi("http://localhost/agent")),
        ]
        for agent in agents {
            let error = await thrown(StepwellError.self) { try await agent.run("Hello") }
            #expect(error?.kind == .misuse)
        }
    }
}
