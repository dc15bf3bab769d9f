import Foundation
import Testing

@testable import Stepwell

private let numbers = ["alice": 42, "bob": 7]

private struct Person: Decodable {
    @Guide("Whose number.") var name: String
}

private struct Unknown: Error, CustomStringConvertible {
    let name: String
    var description: String { "nobody knows \(name)" }
}

private func agent(
    _ mock: MockLlm, tools: [AgentTool]? = nil,
    approver: (@Sendable (ToolInvocation) async throws -> Decision)? = nil
) throws -> Agent {
    let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
        guard let number = numbers[person.name] else { throw Unknown(name: person.name) }
        return number
    }
    return Agent(model: mock.model, tools: tools ?? [secretNumber], approver: approver)
}

private func all(_ turn: Turn<String>) async throws -> [Event] {
    var all: [Event] = []
    for try await event in turn.events { all.append(event) }
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
    let turn = try agent(mock).stream("What are Alice's and Bob's secret numbers?")
    let events = try await all(turn)
    #expect(text(events).hasSuffix("Alice's number is 42, Bob's is 7"))
    #expect(Set(results(events)) == [.finished(.init(content: "42", parts: nil)), .finished(.init(content: "7", parts: nil))])
    #expect(events.last == .completed(.init(outcome: .success)))
    // The result is there after the events, and again.
    let result = try await turn.result()
    #expect(result.text == "Alice's number is 42, Bob's is 7")
    #expect(result.output == result.text && result.fullText == text(events))
    #expect(result.stopReason == .complete && result.hops == 2)
    #expect(try await turn.result().messages == result.messages)
    guard case .assistant(let calls) = result.messages[1] else { return #expect(Bool(false), "\(result.messages)") }
    #expect(calls.toolCalls.map(\.name) == ["get_secret_number", "get_secret_number"])
}

@Test("the text of a turn as it comes")
func textStream() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    var text = ""
    for try await piece in try agent(mock).stream("Hi").textStream { text += piece }
    #expect(text == "Hello")
}

@Test("the shared state of an AG-UI agent, which is taken leniently")
func sharedState() async throws {
    let change = #"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/pages","value":2}]}"#
    let stray = #"{"type":"TEXT_MESSAGE_CONTENT","messageId":"nobody","delta":"lost"}"#
    let mock = try MockLlm(#"{"steps":[{"raw_frame":\#(change)},{"raw_frame":\#(stray)},{"text":"Hello"}]}"#)
    let agent = Agent(model: mock.agUi, agUi: AgUiOptions(verification: .lenient))
    let conversation = try agent.conversation(sharedState: ["colour": "blue"])
    #expect(conversation.sharedState == ["colour": "blue"])
    let events = try await all(conversation.stream("Hi"))
    #expect(events.last == .completed(.init(outcome: .success)))
    #expect(try conversation.sharedState.decode() == Shared(colour: "blue", pages: 2))
}

private struct Shared: Decodable, Equatable {
    let colour: String
    let pages: Int
}

@Test("the model is told that a tool threw, and the turn goes on")
func aToolThatThrows() async throws {
    let mock = try MockLlm(MockLlm.call("get_secret_number", #"{"name":"carol"}"#), MockLlm.text("Nobody knows"))
    let events = try await all(agent(mock).stream("Carol's?"))
    let told = "`get_secret_number` failed because of a mistake in its code"
    #expect(results(events) == [.failed(.init(kind: .panicked, message: told))])
    #expect(text(events) == "Nobody knows")
    #expect(events.last == .completed(.init(outcome: .success)))
}

@Test("arguments that do not fit the type are refused by the schema that was read off it")
func argumentsThatDoNotFit() async throws {
    let mock = try MockLlm(MockLlm.call("get_secret_number", #"{"name":3}"#), MockLlm.text("Sorry"))
    let events = try await all(agent(mock).stream("Go"))
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
    let events = try await all(agent(mock, tools: [tool]).stream("Go"))
    #expect(results(events).count == 2)
    #expect(events.last == .completed(.init(outcome: .success)))
}

@Test("cancelling the task that iterates cancels the turn, and the tool that runs")
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
    let turn = Task { try await all(agent.stream("Go")) }
    await begun.pass()
    turn.cancel()
    await #expect(throws: CancellationError.self) { try await turn.value }
    await stopped.pass()
}

@Test("leaving the loop cancels the turn, and so does letting go of it")
func leavingTheLoop() async throws {
    let mock = try MockLlm(MockLlm.stall("Once"), MockLlm.text("Again"))
    let conversation = try agent(mock).conversation()
    let turn = conversation.stream("Tell")
    for try await update in turn {
        if case .text = update { break }
    }
    let error = await thrown(StepwellError.self) { try await turn.result() }
    #expect(error?.kind == .cancelled)
    #expect(error?.result?.fullText == "Once")
    #expect(try await conversation.send("And?").text == "Again")

    let (begun, stopped) = (Gate(), Gate())
    let wait = AgentTool("wait", "Waits.") { _ in
        await begun.open()
        while !Task.isCancelled { try? await Task.sleep(nanoseconds: 1_000_000) }
        await stopped.open()
        return ""
    }
    let calls = try MockLlm(MockLlm.call("wait", "{}"))
    var dropped: Turn<String>? = try agent(calls, tools: [wait]).stream("Go")
    await begun.pass()
    #expect(dropped != nil)
    dropped = nil
    await stopped.pass()
}

@Test("a cancelled task is a CancellationError, a cancelled turn is a cancelled one")
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
            let task = Task { try await agent.run("Go") }
            await begun.pass()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            continue
        }
        let turn = agent.stream("Go")
        let task = Task { try await turn.result() }
        await begun.pass()
        turn.cancel()
        let error = await thrown(StepwellError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
    }
}

@Test("a task that is cancelled already sends nothing")
func cancelledBefore() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    let agent = try agent(mock)
    let gate = Gate()
    let task = Task {
        await gate.pass()
        return try await agent.stream("Go").result()
    }
    task.cancel()
    await gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await agent.run("Now").text == "Hello")
}

@Test("a turn gives its events once")
func aSequenceIsOneTurn() async throws {
    let mock = try MockLlm(MockLlm.text("One"), MockLlm.text("Two"))
    let agent = try agent(mock)
    let turn = agent.stream("Go")
    #expect(text(try await all(turn)) == "One")
    let error = await thrown(StepwellError.self) { try await all(turn) }
    #expect(error?.kind == .misuse)
    #expect(error?.advice.contains("`stream`") == true)
    // Nothing was sent meanwhile.
    let other = agent.stream("And?")
    #expect(try await other.result().text == "Two")
    await #expect(throws: StepwellError.self) { try await all(other) }
}

@Test("the user is asked before a tool runs")
func theUserIsAsked() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("I see"))
    let order = AgentTool("order", "Orders.", requiresApproval: true) { _ in "ordered" }
    let events = try await all(agent(mock, tools: [order], approver: { _ in .denied(reason: "not on Sundays") }).stream("Go"))
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
    #expect(try await agent(shop, tools: [pay]).run("Pay").text == "Then not.")
    let told = try #require(try await shop.requests().last).texts.suffix(2)
    #expect(told.count == 2 && told.allSatisfy { $0.contains("did not allow") }, "\(told)")

    let started = #"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#
    let asks =
        #"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":["#
        + #"{"id":"where","reason":"input_required"}]}}"#
    let travel = try MockLlm(
        #"{"bare":true,"steps":[{"raw_frame":\#(started)},{"raw_frame":\#(asks)}]}"#, MockLlm.text("Then not."))
    #expect(try await Agent(model: travel.agUi).run("Book it").text == "Then not.")
}

@Test("a model that falls silent is given up")
func aSilentModel() async throws {
    let mock = try MockLlm(MockLlm.stall("Well"))
    let agent = Agent(
        model: mock.model, retry: RetryPolicy(attempts: 1), timeouts: Timeouts(silence: .milliseconds(50)))
    let error = await thrown(StepwellError.self) { try await agent.run("Hi") }
    #expect(error?.kind == .timeout)
}

@Test("a deferred call rests, and another agent goes on")
func aDeferredCall() async throws {
    let mock = try MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!"))
    let order = AgentTool("order", "Orders.") { _ in throw ToolError.Deferred }
    let turn = try agent(mock, tools: [order]).stream("Tea")
    let snapshot = try await turn.rested()
    let id = try await deferredCall(turn)
    turn.cancel()

    let again = AgentTool("order", "Orders.") { _ in throw Unknown(name: "why again") }
    let revived = try agent(mock, tools: [again]).revive(snapshot)
    try await revived.resolveCall(id, content: "the tea is here")
    #expect(try await revived.result().text == "Enjoy!")
}

@Test("errors tell what to do")
func errorsTellWhatToDo() async {
    for model: Model in ["nobody:any", "gpt-5-mini"] {
        let error = await thrown(StepwellError.self) { try await Agent(model: model).run("Hi") }
        #expect(error?.kind == .misuse && error?.result == nil)
        #expect(error?.advice.contains("openai") == true)
        #expect(throws: StepwellError.self) { try Agent(model: model).conversation() }
    }
}

@Test("fifty turns at once")
func fiftyTurnsAtOnce() async throws {
    try await withThrowingTaskGroup(of: String.self) { group in
        let hello = try MockLlm(MockLlm.text("Hello"), repeats: true)
        for _ in 0..<50 {
            group.addTask { text(try await all(agent(hello).stream("Hi"))) }
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
            let events = try await all(agent(mock).stream("Hi"))
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

@Test("a conversation is busy while a turn of it is under way")
func busy() async throws {
    let mock = try MockLlm(MockLlm.call("wait", "{}"), MockLlm.text("Coffee."), MockLlm.text("Then not."))
    let begun = Gate()
    let wait = AgentTool("wait", "Waits.") { _ in
        await begun.open()
        // Until it is cancelled.
        while !Task.isCancelled { try? await Task.sleep(nanoseconds: 1_000_000) }
        return ""
    }
    let agent = try agent(mock, tools: [wait])
    let alice = try agent.conversation(id: "alice")
    let first = alice.stream("I am Alice")
    await begun.pass()
    let error = await thrown(StepwellError.self) { try await alice.send("Still there?") }
    #expect(error?.kind == .busy)
    // Another one is not.
    #expect(try await agent.conversation(id: "bob").send("I am Bob").text == "Coffee.")
    let answer = try await alice.send("Never mind", options: RunOptions(whenBusy: .cancel))
    #expect(answer.text == "Then not.")
    let cancelled = await thrown(StepwellError.self) { try await first.result() }
    #expect(cancelled?.kind == .cancelled)
    #expect(!"\(alice.messages)".contains("Bob"))
}
