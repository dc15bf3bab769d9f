import Foundation
import Testing

@testable import Stepwell

private let numbers = ["alice": 42, "bob": 7]

private struct Person: ToolArguments {
    let name: String
    static let descriptions = ["name": "Whose number."]
}

private struct Unknown: Error, CustomStringConvertible {
    let name: String
    var description: String { "nobody knows \(name)" }
}

private func agent(_ mock: MockLlm, tools: [AgentTool]? = nil, approver: Approver? = nil) throws -> Agent {
    let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
        guard let number = numbers[person.name] else { throw Unknown(name: person.name) }
        return number
    }
    return try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, tools: tools ?? [secretNumber],
        approver: approver)
}

private func all(_ events: TurnEvents) async throws -> [Event] {
    var all: [Event] = []
    for try await event in events { all.append(event) }
    return all
}

private func text(_ events: [Event]) -> String {
    events.map { if case .textMessageContent(let text) = $0 { text.delta } else { "" } }.joined()
}

private func results(_ events: [Event]) -> [ToolResult] {
    events.compactMap { if case .toolCallUpdate(let update) = $0 { update.result } else { nil } }
}

/// Lets others wait until something has happened.
private actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func open() {
        isOpen = true
        for one in waiting { one.resume() }
        waiting = []
    }

    func pass() async {
        if isOpen { return }
        await withCheckedContinuation { waiting.append($0) }
    }
}

@Test("the demo's turn")
func secretNumbers() async throws {
    let mock = try MockLlm()
    let agent = try agent(mock)
    let events = try await all(agent.send("What are Alice's and Bob's secret numbers?"))
    #expect(text(events).hasSuffix("Alice's number is 42, Bob's is 7"))
    #expect(Set(results(events)) == [.finished(.init(content: "42")), .finished(.init(content: "7"))])
    #expect(events.last == .completed(.init(outcome: .success)))
    #expect(agent.text().hasSuffix("Alice's number is 42, Bob's is 7"))
}

@Test("the shared state of an AG-UI agent, which is taken leniently")
func sharedState() async throws {
    let change = #"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/pages","value":2}]}"#
    let stray = #"{"type":"TEXT_MESSAGE_CONTENT","messageId":"nobody","delta":"lost"}"#
    let mock = try MockLlm(#"{"steps":[{"raw_frame":\#(change)},{"raw_frame":\#(stray)},{"text":"Hello"}]}"#)
    let agent = try Agent(
        provider: "ag-ui", baseUrl: String(mock.baseUrl.dropLast("/v1".count)) + "/ag-ui",
        agUi: AgUiOptions(verification: .lenient), sharedState: ["colour": "blue"])
    #expect(agent.sharedState() == ["colour": "blue"])
    let events = try await all(agent.send("Hi"))
    #expect(events.last == .completed(.init(outcome: .success)))
    #expect(try agent.sharedState().decode() == Shared(colour: "blue", pages: 2))
}

private struct Shared: Decodable, Equatable {
    let colour: String
    let pages: Int
}

@Test("a tool that throws is shown to the model, and the turn goes on")
func aToolThatThrows() async throws {
    let mock = try MockLlm(MockLlm.call("get_secret_number", #"{"name":"carol"}"#), MockLlm.text("Nobody knows"))
    let events = try await all(agent(mock).send("Carol's?"))
    #expect(results(events) == [.failed(.init(kind: .panicked, message: "nobody knows carol"))])
    #expect(text(events) == "Nobody knows")
    #expect(events.last == .completed(.init(outcome: .success)))
}

@Test("arguments that do not fit the type are refused by the schema that was read off it")
func argumentsThatDoNotFit() async throws {
    let mock = try MockLlm(MockLlm.call("get_secret_number", #"{"name":3}"#), MockLlm.text("Sorry"))
    let events = try await all(agent(mock).send("Go"))
    guard case .failed(let failure) = results(events).first, failure.kind == .rejected else {
        return #expect(Bool(false), "\(results(events))")
    }
    #expect(failure.message.contains("do not fit its schema"))
}

@Test("tools run side by side")
func toolsSideBySide() async throws {
    let mock = try MockLlm()
    let gates = ["alice": Gate(), "bob": Gate()]
    let tool = try AgentTool("get_secret_number", "Meets the other.") { (person: Person) in
        await gates[person.name]?.open()
        for gate in gates.values { await gate.pass() }
        return numbers[person.name]
    }
    let events = try await all(agent(mock, tools: [tool]).send("Go"))
    #expect(results(events).count == 2)
    #expect(events.last == .completed(.init(outcome: .success)))
}

@Test("cancelling the task cancels the turn, and the tool that runs")
func cancellingTheTask() async throws {
    let mock = try MockLlm(MockLlm.call("wait", "{}"))
    let (begun, stopped) = (Gate(), Gate())
    let wait = AgentTool("wait", "Waits.") { _ in
        await begun.open()
        // Until it is cancelled.
        while !Task.isCancelled { try? await Task.sleep(nanoseconds: 1_000_000) }
        await stopped.open()
        return ""
    }
    let agent = try agent(mock, tools: [wait])
    let turn = Task { try await all(agent.send("Go")) }
    await begun.pass()
    turn.cancel()
    let events = try await turn.value
    #expect(events.last == .completed(.init(outcome: .cancelled)))
    await stopped.pass()
}

@Test("leaving the loop cancels the turn")
func leavingTheLoop() async throws {
    let mock = try MockLlm(MockLlm.stall("Once"), MockLlm.text("Again"))
    let agent = try agent(mock)
    for try await event in agent.send("Tell") {
        if case .textMessageContent = event { break }
    }
    let events = try await all(agent.send("And?"))
    #expect(text(events) == "Again")
}

@Test("a cancelled task is a CancellationError, a cancelled turn is a stopped one")
func cancellationIsThrown() async throws {
    let mock = try MockLlm(MockLlm.call("wait", "{}"), MockLlm.call("wait", "{}"))
    for cancelsTask in [true, false] {
        let begun = Gate()
        let wait = AgentTool("wait", "Waits.") { _ in
            await begun.open()
            while !Task.isCancelled { try? await Task.sleep(nanoseconds: 1_000_000) }
            return ""
        }
        let agent = try agent(mock, tools: [wait])
        if cancelsTask {
            let task = Task { try await agent.sendAndWait("Go") }
            await begun.pass()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            continue
        }
        let turn = try agent.startTurn(text: "Go")
        let task = Task { try await agent.whole(turn) }
        await begun.pass()
        turn.cancel()
        let error = await thrown(TurnError.self) { try await task.value }
        #expect(error?.kind == .stopped)
    }
}

@Test("a task that is cancelled already sends nothing")
func cancelledBefore() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    let agent = try agent(mock)
    let gate = Gate()
    let task = Task {
        await gate.pass()
        return try await agent.sendAndWait("Go")
    }
    task.cancel()
    await gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await agent.sendAndWait("Now").text == "Hello")
}

@Test("a sequence is one turn, however often it is iterated over")
func aSequenceIsOneTurn() async throws {
    let mock = try MockLlm(MockLlm.text("One"), MockLlm.text("Two"))
    let agent = try agent(mock)
    let events = agent.send("Go")
    #expect(text(try await all(events)) == "One")
    let error = await thrown(StepwellError.self) { try await all(events) }
    guard case .Misuse(_, let advice) = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(advice.contains("`send`"))
    // Nothing was sent meanwhile.
    #expect(try await agent.sendAndWait("And?").text == "Two")
    let turn = try agent.startTurn(text: "More").events()
    _ = try await all(turn)
    await #expect(throws: StepwellError.self) { try await all(turn) }
}

@Test("the user is asked before a tool runs")
func theUserIsAsked() async throws {
    final class No: Approver {
        func decide(invocation: ToolInvocation) async throws -> Decision { .denied(reason: "not on Sundays") }
    }
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("I see"))
    let order = AgentTool("order", "Orders.", requiresApproval: true) { _ in "ordered" }
    let events = try await all(agent(mock, tools: [order], approver: No()).send("Go"))
    guard case .failed(let failure) = results(events).first, failure.kind == .denied else {
        return #expect(Bool(false), "\(results(events))")
    }
    #expect(failure.message.contains("not on Sundays"))
}

@Test("nobody to ask is an answer too")
func nobodyToAsk() async throws {
    let pays = #"{"tool_call":{"name":"pay","arguments":{}}}"#
    let shop = try MockLlm(#"{"steps":[\#(pays),\#(pays)]}"#, MockLlm.text("Then not."))
    let pay = AgentTool("pay", "Pays.", requiresApproval: true) { _ in "paid" }
    let denied = results(try await all(agent(shop, tools: [pay]).send("Pay")))
    #expect(denied.count == 2)
    for result in denied {
        guard case .failed(let failure) = result, failure.kind == .denied else { return #expect(Bool(false), "\(result)") }
    }

    let started = #"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#
    let asks =
        #"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":["#
        + #"{"id":"where","reason":"input_required"}]}}"#
    let travel = try MockLlm(
        #"{"bare":true,"steps":[{"raw_frame":\#(started)},{"raw_frame":\#(asks)}]}"#, MockLlm.text("Then not."))
    let agent = try Agent(provider: "ag-ui", baseUrl: String(travel.baseUrl.dropLast("/v1".count)) + "/ag-ui")
    #expect(try await agent.sendAndWait("Book it").text == "Then not.")
}

@Test("a model that falls silent is given up")
func aSilentModel() async throws {
    let mock = try MockLlm(MockLlm.stall("Well"))
    let agent = try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, retry: RetryPolicy(attempts: 1),
        timeouts: Timeouts(silence: .milliseconds(50)))
    await #expect(throws: TurnError.self) { try await agent.sendAndWait("Hi") }
}

@Test("a deferred call rests, and another agent goes on")
func aDeferredCall() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let turn = try agent(mock, tools: [order]).startTurn(text: "Tea")
    var id: String?
    while id == nil {
        for case .toolCallUpdate(let update) in await turn.nextBatch() where update.status == .deferred { id = update.toolCallId }
    }
    let snapshot = try await turn.rested()
    turn.cancel()

    let again = AgentTool("order", "Orders.") { _ in throw Unknown(name: "why again") }
    let revived = try agent(mock, tools: [again]).revive(snapshot: snapshot)
    try await revived.finishCall(toolCallId: #require(id), content: "the tea is here")
    let finished = try await revived.finish()
    #expect(finished.outcome == .success)
    #expect(finished.text.hasSuffix("Enjoy!"))
}

@Test("errors tell what to do")
func errorsTellWhatToDo() {
    do {
        _ = try Agent(provider: "nobody")
        Issue.record("there is a provider `nobody`")
    } catch StepwellError.Configuration(let reason, let advice) {
        #expect(reason.contains("nobody"))
        #expect(advice.contains("openai-compatible"))
    } catch {
        Issue.record(error)
    }
}

@Test("fifty turns at once")
func fiftyTurnsAtOnce() async throws {
    try await withThrowingTaskGroup(of: String.self) { group in
        let hello = try MockLlm(MockLlm.text("Hello"), repeats: true)
        for _ in 0..<50 {
            group.addTask { text(try await all(agent(hello).send("Hi"))) }
        }
        for try await said in group { #expect(said == "Hello") }
    }
}

@Test("many turns leave nothing behind")
func manyTurns() async throws {
    let answer = String(repeating: "word ", count: 8_000)
    let mock = try MockLlm(#"{"steps":[{"text":"\#(answer)"}],"pieces":4096}"#, repeats: true)
    func turns(_ count: Int) async throws {
        for _ in 0..<count {
            let events = try await all(agent(mock).send("Hi"))
            #expect(events.last == .completed(.init(outcome: .success)))
        }
    }
    try await turns(50)
    let before = residentKibibytes()
    let count = ProcessInfo.processInfo.environment["STEPWELL_THOROUGH"] == nil ? 250 : 1_000
    try await turns(count)
    let after = residentKibibytes()
    print("\(count) turns: \(before) KiB resident before, \(after) KiB after")
    // Less than a third of an answer each.
    #expect(after < before + count * answer.utf8.count / 3 / 1024)
}

/// What the process holds, as Linux counts it; nothing elsewhere.
private func residentKibibytes() -> Int {
    let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line?.split(whereSeparator: { $0.isWhitespace }).dropFirst().first.flatMap { Int($0) } ?? 0
}

@Test("two users of one agent are not mixed")
func twoUsers() async throws {
    let mock = try MockLlm(MockLlm.call("wait", "{}"), MockLlm.text("Coffee."), MockLlm.text("Then not."))
    let begun = Gate()
    let wait = AgentTool("wait", "Waits.") { _ in
        await begun.open()
        // Until it is cancelled.
        while !Task.isCancelled { try? await Task.sleep(nanoseconds: 1_000_000) }
        return ""
    }
    let agent = try agent(mock, tools: [wait])
    let first = try agent.startTurn(text: "I am Alice")
    await begun.pass()
    do {
        _ = try await agent.sendAndWait("I am Bob")
        Issue.record("the thread is busy")
    } catch TurnError.Busy(let problem, let finished) {
        #expect(problem.advice.contains("agent.thread(id)"))
        #expect(finished.text == "" && finished.hops == 0)
    }
    // Each has a thread of their own.
    #expect(try await agent.thread(key: ThreadKey(thread: "bob")).sendAndWait("I am Bob").text == "Coffee.")
    let answer = try await agent.sendAndWait("Never mind", options: TurnOptions(whenBusy: .cancel))
    #expect(answer.text == "Then not.")
    #expect(try await first.finish().outcome == .cancelled)
    #expect(!"\(agent.messages())".contains("Bob"))
}
