import Foundation
import Stepwell
import StepwellMachine
import Testing

@testable import ChatTurn

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A network that does what the test says.
@MainActor
private final class FakeTransport: Transport {
    var onEvent: (@MainActor (String, StreamEvent) -> Void)?
    var requests: [(effect: String, request: URLRequest)] = []
    var closed: [String] = []

    func open(_ effect: String, _ request: URLRequest) { requests.append((effect, request)) }
    func close(_ effect: String) { closed.append(effect) }

    /// Answers the latest request.
    func answer(_ chunks: [String], status: Int = 200, retryAfter: Duration? = nil, ends: Bool = true) {
        guard let effect = requests.last?.effect else { return }
        onEvent?(effect, .opened(status: status, contentType: "text/event-stream", retryAfter: retryAfter))
        for chunk in chunks { onEvent?(effect, .bytes(Data(chunk.utf8))) }
        if ends { onEvent?(effect, .ended) }
    }

    /// The latest request's body.
    var sent: String { String(decoding: requests.last?.request.httpBody ?? Data(), as: UTF8.self) }
}

private func said(_ text: String) -> String {
    let delta = #"{"role":"assistant","content":"\#(text)"}"#
    return #"data: {"id":"c","choices":[{"index":0,"delta":\#(delta),"finish_reason":null}]}"# + "\n\n"
}

private let end =
    #"data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"# + "\n\ndata: [DONE]\n\n"

private func calls(_ count: Int) -> String {
    let calls = (0..<count).map {
        #"{"index":\#($0),"id":"call-\#($0)","type":"function","function":{"name":"time","arguments":"{}"}}"#
    }
    return #"data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[\#(calls.joined(separator: ","))]},"#
        + #""finish_reason":"tool_calls"}]}"# + "\n\ndata: [DONE]\n\n"
}

private let asksForTime = calls(1)

private func event(_ json: String) -> String { "data: \(json)\n\n" }

@MainActor
private struct World {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString).json")
    let foreground = FakeTransport()
    let background = FakeTransport()

    func chat(
        asks: Bool = false, provider: String = "openai-compatible",
        change: (inout RunConfig) -> Void = { _ in },
        time: @escaping @Sendable () async throws -> String = { "noon" }
    ) -> Chat {
        let definition = ToolDefinition(name: "time", description: "The time.", requiresApproval: asks)
        let tool = ChatTool(definition) { _ in try await time() }
        var config = RunConfig(provider: provider, model: "m", baseUrl: "http://localhost/v1")
        change(&config)
        return Chat(
            config: config, tools: [tool], store: ChatStore(file: file), foreground: foreground,
            background: background)
    }
}

/// Waits until something is so.
@MainActor
private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

@Test("a turn with a tool")
@MainActor
func aTurnWithATool() async {
    let world = World()
    let chat = world.chat()
    chat.send("What time is it?")
    world.foreground.answer([asksForTime])
    await until { world.foreground.requests.count == 2 }
    world.foreground.answer([said("It is "), said("noon."), end])
    #expect(!chat.isRunning)
    #expect(chat.lines.map(\.text) == ["What time is it?", "time: noon", "It is noon."])
    // The next turn knows of this one.
    chat.send("Thanks")
    let body = String(decoding: world.foreground.requests[2].request.httpBody ?? Data(), as: UTF8.self)
    #expect(body.contains("It is noon."))
    #expect(world.background.requests.isEmpty)
}

@Test("a hop that begins in the background is the system's, and a new process takes up its answer")
@MainActor
func aNewProcessTakesUpTheAnswer() async {
    let world = World()
    let chat = world.chat()
    chat.send("What time is it?")
    chat.enteredBackground()
    world.foreground.answer([asksForTime])
    await until { world.background.requests.count == 1 }
    let effect = world.background.requests[0].effect

    // The app is killed; the system has the answer, and starts it again.
    let next = world.chat()
    next.takeUp(pending: [effect])
    #expect(next.isRunning)
    world.background.answer([said("It is noon."), end])
    #expect(!next.isRunning)
    #expect(next.lines.map(\.text) == ["What time is it?", "time: noon", "It is noon."])
    #expect(world.background.requests.count == 1)
}

@Test("an answer that is there before the run is taken up is not asked for again")
@MainActor
func theAnswerIsEarly() async {
    let world = World()
    let chat = world.chat()
    chat.send("What time is it?")
    chat.enteredBackground()
    world.foreground.answer([asksForTime])
    await until { world.background.requests.count == 1 }

    let next = world.chat()
    // The delegate delivers it while the app asks what is pending: nothing is, then.
    world.background.answer([said("It is noon."), end])
    next.takeUp(pending: [])
    #expect(!next.isRunning)
    #expect(next.lines.map(\.text) == ["What time is it?", "time: noon", "It is noon."])
    #expect(world.background.requests.count == 1)
    #expect(world.foreground.requests.count == 1)
}

@Test("a request that died with its process goes out again")
@MainActor
func aRequestThatDied() async {
    let world = World()
    world.chat().send("Hello")
    let next = world.chat()
    next.takeUp(pending: [])
    #expect(world.foreground.requests.count == 2)
    world.foreground.answer([said("Hi"), end])
    #expect(next.lines.map(\.text) == ["Hello", "Hi"])
}

@Test("a stream that outlasts the granted time is lost, and what was said stays")
@MainActor
func theGrantedTimeRunsOut() async {
    let world = World()
    let chat = world.chat()
    chat.send("Hello")
    world.foreground.answer([said("Once upon")], ends: false)
    chat.enteredBackground()
    chat.ranOutOfTime()
    #expect(!chat.isRunning)
    #expect(chat.lines[1].text == "Once upon")
    #expect(world.foreground.closed == [world.foreground.requests[0].effect])
}

@Test("two tools ask at once, and each is answered by itself")
@MainActor
func twoToolsAskAtOnce() async {
    let world = World()
    let chat = world.chat(asks: true)
    chat.send("What time is it here and there?")
    world.foreground.answer([calls(2)])
    #expect(chat.questions.count == 2)
    let (first, second) = (chat.questions[0], chat.questions[1])
    chat.answer(second, .denied(reason: "not there"))
    #expect(chat.questions == [first])
    chat.answer(first, .approved)
    await until { world.foreground.requests.count == 2 }
    #expect(world.foreground.sent.contains("noon") && world.foreground.sent.contains("not there"))
    world.foreground.answer([said("It is noon here."), end])
    #expect(!chat.isRunning && chat.questions.isEmpty)
}

@Test("what an agent asks is answered together, in the next process too")
@MainActor
func theAgentAsks() async {
    let world = World()
    let first = world.chat(provider: "ag-ui")
    first.send("Book it")
    let interrupts =
        #"[{"id":"where","reason":"input_required","message":"Where to?"},{"id":"pay","reason":"tool_call","#
        + #""responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}]"#
    world.foreground.answer([
        event(#"{"type":"RUN_STARTED","threadId":"chat","runId":"r"}"#),
        event(
            #"{"type":"RUN_FINISHED","threadId":"chat","runId":"r","#
                + #""outcome":{"type":"interrupt","interrupts":\#(interrupts)}}"#),
    ])
    #expect(first.questions.map(\.text) == ["Where to?", "The agent asks you."])

    let chat = world.chat(provider: "ag-ui")
    chat.takeUp(pending: [])
    #expect(chat.questions.map(\.isApproval) == [false, true])
    chat.answer(chat.questions[0], .said("Rome"))
    #expect(world.foreground.requests.count == 1)
    chat.answer(chat.questions[0], .approved)
    #expect(world.foreground.requests.count == 2)
    #expect(world.foreground.sent.contains(#""payload":"Rome""#))
    #expect(world.foreground.sent.contains(#""payload":{"approved":true}"#))
}

@Test("a turn that begins without a network waits for one")
@MainActor
func aTurnWithoutNetwork() async {
    let world = World()
    let chat = world.chat()
    chat.networkLost()
    chat.send("Hello")
    #expect(world.foreground.requests.isEmpty)
    #expect(chat.lines.last?.text == "There is no network.")
    chat.networkAvailable()
    world.foreground.answer([said("Hi"), end])
    #expect(!chat.isRunning && chat.lines.last?.text == "Hi")
}

@Test("a model that falls silent is given up, and a turn can be stopped")
@MainActor
func aSilentModel() async {
    let world = World()
    let chat = world.chat(change: {
        $0.timeouts.silence = .milliseconds(1)
        $0.retry.attempts = 1
    })
    chat.send("Hello")
    await until { !chat.isRunning }
    #expect(chat.lines.last?.who == .notice)

    let stopped = World()
    let other = stopped.chat()
    other.send("Hello")
    stopped.foreground.answer([said("Once upon")], ends: false)
    other.cancel()
    #expect(!other.isRunning)
    #expect(stopped.foreground.closed == [stopped.foreground.requests[0].effect])
}
