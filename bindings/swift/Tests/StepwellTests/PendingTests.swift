import Foundation
import Testing

@testable import Stepwell
@testable import StepwellBindings

private struct Payment: Codable { let amount: Int }

private let speeds: JsonValue = ["enum": ["today", "this week"]]

/// What waits for the user, as data.
@Suite struct PendingTests {
    private let pay = try! AgentTool("pay", "Pays.", requiresApproval: true) { (payment: Payment) in
        "paid \(payment.amount)"
    }
    private let ship = AgentTool("ship", "Ships.") { (_: ToolInvocation, context: ToolContext) in
        guard case .given(let speed) = try await context.ask(question: Question(message: "How fast?", schema: speeds))
        else { return "stays" }
        return "leaves \(try speed.decode(as: String.self))"
    }

    private func paying() throws -> MockLlm {
        try MockLlm(MockLlm.call("pay", #"{"amount":5}"#), MockLlm.text("I see."))
    }

    private func told(_ mock: MockLlm) async throws -> String { try await mock.requests().last?.texts.last ?? "" }

    @Test func aCallWaitsAndIsAllowedWithOtherArguments() async throws {
        let mock = try paying()
        let turn = Agent(model: mock.model, tools: [pay]).stream("Pay")
        var seen: [[String]] = []
        for try await update in turn {
            guard case .pending(let pending) = update else { continue }
            seen.append(pending.map(\.id))
            guard let waiting = pending.first else { continue }
            #expect(waiting.kind == .approval && waiting.tool == "pay")
            #expect(try waiting.arguments.decode(as: Payment.self).amount == 5)
            #expect(try await turn.pending().map(\.id) == [waiting.id])
            try await turn.approve(waiting.id, arguments: ["amount": 3])
        }
        #expect(seen.map(\.count) == [1, 0])
        #expect(try await turn.result().text == "I see.")
        #expect(try await told(mock).contains("paid 3"))
    }

    @Test func aCallIsDenied() async throws {
        let mock = try paying()
        let turn = Agent(model: mock.model, tools: [pay]).stream("Pay")
        _ = try await turn.rested()
        try await turn.deny(turn.pending()[0].id, reason: "not on Sundays")
        _ = try await turn.result()
        #expect(try await told(mock).contains("not on Sundays"))
    }

    @Test func aQuestionIsAnswered() async throws {
        let mock = try MockLlm(MockLlm.call("ship", "{}"), MockLlm.text("I see."))
        let conversation = try Agent(model: mock.model, tools: [ship]).conversation()
        let turn = conversation.stream("Ship")
        for try await update in turn {
            guard case .pending(let pending) = update, let waiting = pending.first else { continue }
            #expect(waiting.kind == .question && waiting.message == "How fast?")
            #expect(try await conversation.pending().map(\.id) == [waiting.id])
            // What does not fit is refused, and the question waits.
            let error = await thrown(StepwellError.self) { try await conversation.answer(waiting.id, "never") }
            #expect(error?.kind == .misuse)
            try await conversation.answer(waiting.id, "today")
        }
        #expect(try await told(mock) == "leaves today")
    }

    @Test func aRunAsksNobody() async throws {
        let mock = try MockLlm(MockLlm.call("ship", "{}"), MockLlm.text("I see."))
        #expect(try await Agent(model: mock.model, tools: [ship]).run("Ship").text == "I see.")
        #expect(try await told(mock) == "stays")
    }

    @Test func anotherAgentOnTheStoreReplies() async throws {
        let mock = try paying()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path
        let turn = try Agent(model: mock.model, tools: [pay], store: await .openSqlite(path: file))
            .conversation(id: "shop").stream("Pay")
        _ = try await turn.rested()

        let store = try await SessionStore.openSqlite(path: file)
        let waiting = try #require(try await store.pending("shop").first)
        #expect(try waiting.arguments.decode(as: Payment.self).amount == 5)
        let other = try Agent(model: mock.model, tools: [pay], store: store).conversation(id: "shop")
        #expect(try await other.pending() == [waiting])
        try await other.approve(waiting.id)
        #expect(try await turn.result().text == "I see.")
        #expect(try await store.pending("shop").isEmpty)
        let again = await thrown(StepwellError.self) { try await other.approve(waiting.id) }
        #expect(again?.kind == .misuse)
    }

    @Test func aTurnThatNoProcessDrivesContinuesWithTheDepsOfTheReply() async throws {
        let mock = try MockLlm(MockLlm.call("pay", #"{"amount":5}"#), MockLlm.text("I see."))
        let store = SessionStore.inMemory()
        let pay = try AgentToolWith<String>("pay", "Pays.", requiresApproval: true) {
            (payment: Payment, context: ToolContextWith<String>) in "\(context.deps) paid \(payment.amount)"
        }
        let turn = try AgentWith<String>(model: mock.model, tools: [pay], store: store)
            .conversation(id: "shop").stream("Pay", deps: "Alice")
        _ = try await turn.rested()
        _ = try await turn.suspend()

        let callers = Caller.count
        let other = try AgentWith<String>(model: mock.model, tools: [pay], store: store).conversation(id: "shop")
        let waiting = try #require(try await other.pending().first)
        try await other.approve(waiting.id, deps: "Bob")
        while try await mock.requests().count < 2 { await Task.yield() }
        #expect(try await told(mock) == "Bob paid 5")
        // The deps are released with the turn.
        while Caller.count > callers { await Task.yield() }
    }

    @Test func aToolsErrorFailsTheTurnIfTheAppSaysSo() async throws {
        struct Broken: Error {}
        let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("I see."))
        let order = AgentTool("order", "Orders.") { _ in throw Broken() }
        let agent = Agent(model: mock.model, tools: [order], onToolError: .fail)
        let error = await thrown(StepwellError.self) { try await agent.run("Tea") }
        #expect(error?.kind == .toolFailed)
    }

    @Test func theModelSeesAnErrorOnlyIfTheAppWantsIt() async throws {
        struct Broken: Error, CustomStringConvertible { let description = "postgres://user:pass@db" }
        for (policy, isShown): (OnToolError?, Bool) in [(nil, false), (.tellModel, false), (.showModel, true)] {
            let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("I see."))
            let order = AgentTool("order", "Orders.") { _ in throw Broken() }
            _ = try await Agent(model: mock.model, tools: [order], onToolError: policy).run("Tea")
            let told = try await told(mock)
            #expect(told.contains("a mistake in its code") && told.contains("postgres") == isShown)
        }
    }

    @Test func aMessageWaitsForTheTurnOrGoesIntoIt() async throws {
        let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
        for busy: WhenBusy in [.queue, .steer] {
            let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("One"), MockLlm.text("Two"))
            let conversation = try Agent(model: mock.model, tools: [order], whenBusy: busy).conversation()
            let first = conversation.stream("Tea")
            _ = try await first.rested()
            let second = conversation.stream("With milk")
            try await first.resolveCall(deferredCall(first), content: "ordered")
            let answers = [try await first.result().text, try await second.result().text]
            // A message that steers joins the turn, before its answer or after it; if it comes too late, it begins another.
            let possible = busy == .queue ? [["One", "Two"]] : [["One", "One"], ["Two", "Two"], ["One", "Two"]]
            #expect(possible.contains(answers), "\(answers)")
            #expect(try await mock.requests().last?.texts.contains("With milk") == true)
        }
    }
}
