import Foundation
import Testing

@testable import Stepwell
@testable import StepwellBindings

/// What a service has for each of its users.
private struct Account: Sendable {
    let owner: String
}

private enum Trace {
    @TaskLocal static var id = "none"
}

private struct Question: Decodable {
    let about: String
}

/// A tool that tells whose run it is in.
private struct WhoAsks: ToolWith {
    let description = "Who asks."

    func call(arguments: Question, context: ToolContextWith<Account>) async throws -> String {
        // Others have time to interfere.
        await Task.yield()
        return "\(context.deps.owner) in \(Trace.id) about \(arguments.about)"
    }
}

/// A tool that has no need of the account.
private struct Shout: Tool {
    let description = "Says it loudly."

    struct Arguments: Decodable {
        let text: String
    }

    func call(arguments: Arguments) async throws -> String {
        "\(arguments.text.uppercased()) in \(Trace.id)"
    }
}

private let asks = MockLlm.call("who_asks", #"{"about":"tea"}"#)

private func results(_ messages: Transcript) -> [String] {
    messages.compactMap { if case .tool(let result) = $0 { result.text } else { nil } }
}

/// A tool whose arguments have rules, and an enum whose cases have values.
private struct Draw: Tool {
    let description = "Draws a shape."

    struct Arguments: Decodable {
        @Guide("How often.", .range(1...3)) var times: Int
        let shape: Shape
    }

    enum Shape: Codable {
        case circle(radius: Double)
        case line
        enum CodingKeys: CodingKey, CaseIterable { case circle, line }
    }

    func call(arguments: Arguments) async throws -> [String] {
        switch arguments.shape {
        case .circle(let radius): Array(repeating: "circle of \(radius)", count: arguments.times)
        case .line: Array(repeating: "line", count: arguments.times)
        }
    }
}

/// What a run is given for its tools, and what its code inherits from the task that began it.
@Suite struct DepsTests {
    @Test func toolsHaveTheDepsAndTheTaskLocalsOfTheirOwnRun() async throws {
        let mock = try MockLlm(asks, MockLlm.text("Fine"), repeats: true)
        let agent = AgentWith<Account>(model: mock.model, tools: [WhoAsks()])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in 0..<40 {
                group.addTask {
                    try await Trace.$id.withValue("request-\(user)") {
                        let result = try await agent.run("Hi", deps: Account(owner: "user-\(user)"))
                        #expect(results(result.messages) == ["user-\(user) in request-\(user) about tea"])
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func argumentsThatBreakARuleNeverReachTheTool() async throws {
        let mock = try MockLlm(
            MockLlm.call("draw", #"{"times":4,"shape":{"line":{}}}"#),
            MockLlm.call("draw", #"{"times":2,"shape":{"square":{}}}"#),
            MockLlm.call("draw", #"{"times":1,"shape":{"line":{},"circle":{"radius":1}}}"#),
            MockLlm.call("draw", #"{"times":2,"shape":{"circle":{"radius":1.5}}}"#),
            MockLlm.call("draw", #"{"times":1,"shape":{"line":{}}}"#), MockLlm.text("Fine"))
        let told = results(try await Agent(model: mock.model, tools: [Draw()]).run("Hi").messages)
        #expect(told.count == 5)
        #expect(told.prefix(3).allSatisfy { !$0.hasPrefix("[") }, "\(told)")
        #expect(told.suffix(2) == [#"["circle of 1.5","circle of 1.5"]"#, #"["line"]"#])
    }

    @Test func aToolWithoutASchemaIsAnErrorOfTheFirstRun() async throws {
        struct Vague: Tool {
            let description = "Vague."
            struct Arguments: Decodable { let names: [UUID: String] }
            func call(arguments: Arguments) async throws -> String { "" }
        }
        let agent = Agent(model: try MockLlm(MockLlm.text("never")).model, tools: [Vague()])
        await #expect(throws: SchemaError.self) { try await agent.run("Hi") }
    }

    @Test func twoUsersOfOneConversationHaveTheirOwn() async throws {
        let mock = try MockLlm(asks, MockLlm.text("Fine"), repeats: true)
        let conversation = try AgentWith<Account>(model: mock.model, tools: [WhoAsks()]).conversation()
        for user in ["ann", "bob"] {
            let result = try await conversation.send("Hi", deps: Account(owner: user))
            #expect(results(result.messages).last == "\(user) in none about tea")
        }
    }

    @Test func aToolThatNeedsNothingServesAnyAgent() async throws {
        let mock = try MockLlm(MockLlm.call("shout", #"{"text":"hey"}"#), asks, MockLlm.text("Fine"))
        let whoAsks = try AgentToolWith("who_asks", "Who asks.") { (_: Question, context: ToolContextWith<Account>) in
            context.deps.owner
        }
        let agent = AgentWith<Account>(model: mock.model, tools: [try Shout().withDeps(), whoAsks])
        let result = try await agent.run("Hi", deps: Account(owner: "ann"))
        #expect(results(result.messages) == ["HEY in none", "ann"])
    }

    @Test func allCodeOfTheAppHasTheTaskLocalsAndThePriorityOfItsCaller() async throws {
        let mock = try MockLlm(MockLlm.call("shout", #"{"text":"hey"}"#), MockLlm.text("Fine"))
        let seen = Seen()
        let shout = try AgentTool("shout", "Says it.", requiresApproval: true) { (_: Shout.Arguments) in
            seen.add("tool \(Trace.id) \(Task.currentPriority == .utility)")
            return ""
        }
        let agent = Agent(
            model: mock.model, tools: [shout],
            approver: { _ in
                seen.add("approver \(Trace.id)")
                return .granted
            },
            hooks: [AgentHook("look", beforeRequest: { _ in
                seen.add("hook \(Trace.id)")
                return nil
            })],
            instructionsFrom: { _ in
                seen.add("instructions \(Trace.id)")
                return "Be kind."
            })
        try await Trace.$id.withValue("request") {
            try await Task(priority: .utility) { _ = try await agent.run("Hi") }.value
        }
        #expect(seen.all == [
            "instructions request", "hook request", "approver request", "tool request true", "hook request",
        ])
    }

    @Test func aTurnThatIsCancelledCancelsItsTool() async throws {
        let mock = try MockLlm(MockLlm.call("wait", "{}"))
        let (began, ended) = (Promise<Void>(), Promise<Bool>())
        let wait = AgentTool("wait", "Waits.") { _ in
            began.keep(())
            await withTaskCancellationHandler { _ = await ended.value() } onCancel: { ended.keep(true) }
            return ""
        }
        let turn = Agent(model: mock.model, tools: [wait]).stream("Hi")
        await began.value()
        turn.cancel()
        #expect(await ended.value())
        let error = await thrown(StepwellError.self) { try await turn.result() }
        #expect(error?.kind == .cancelled)
    }

    @Test func aRevivedTurnHasTheDepsItIsGiven() async throws {
        let mock = try MockLlm(MockLlm.call("later", "{}"), asks, MockLlm.text("Fine"))
        let later = AgentToolWith<Account>("later", "Comes later.") { _ in throw ToolError.Deferred }
        let agent = AgentWith<Account>(model: mock.model, tools: [later, WhoAsks()])
        let turn = agent.stream("Hi", deps: Account(owner: "ann"))
        let snapshot = try await turn.rested()
        let call = try await deferredCall(turn)
        turn.cancel()
        let revived = try agent.revive(snapshot, deps: Account(owner: "bob"))
        try await revived.resolveCall(call, content: "now")
        #expect(results(try await revived.result().messages).last == "bob in none about tea")
    }

    @Test func recoveredTurnsHaveTheDepsUntilTheLastIsOver() async throws {
        let mock = try MockLlm(MockLlm.call("later", "{}"), asks, MockLlm.text("Fine"), repeats: true)
        let later = AgentToolWith<Account>("later", "Comes later.") { _ in throw ToolError.Deferred }
        let (store, before) = (SessionStore.inMemory(), Caller.count)
        for _ in 0..<2 {
            let agent = AgentWith<Account>(model: mock.model, tools: [later], store: store)
            let turn = try agent.conversation().stream("Hi", deps: Account(owner: "ann"))
            _ = try await turn.rested()
            _ = try await turn.suspend()
        }
        let agent = AgentWith<Account>(model: mock.model, tools: [later, WhoAsks()], store: store)
        let found = try await agent.recover(deps: Account(owner: "bob"))
        #expect(found.count == 2)
        for turn in found.compactMap(\.turn) {
            try await turn.resolveCall(deferredCall(turn), content: "now")
            #expect(results(try await turn.result().messages).last == "bob in none about tea")
        }
        #expect(Caller.count == before)
        #expect(try await agent.recover(deps: Account(owner: "bob")).isEmpty)
        #expect(Caller.count == before)
    }

    @Test func nothingIsKeptOfCallers() async throws {
        let mock = try MockLlm(MockLlm.text("Hello"), repeats: true)
        let agent = Agent(model: mock.model)
        let before = Caller.count
        for _ in 0..<20 { _ = try await agent.run("Hi") }
        for _ in 0..<5 { _ = agent.stream("Hi") }
        #expect(Caller.count == before)
    }
}

/// What code has reported, in order.
private final class Seen: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    var all: [String] { lock.withLock { lines } }

    func add(_ line: String) { lock.withLock { lines.append(line) } }
}
