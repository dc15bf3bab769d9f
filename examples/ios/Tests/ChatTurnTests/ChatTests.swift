import Foundation
import Stepwell
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
    func answer(_ chunks: [String], ends: Bool = true) {
        guard let effect = requests.last?.effect else { return }
        onEvent?(effect, .opened(status: 200, contentType: "text/event-stream", retryAfterMs: nil))
        for chunk in chunks { onEvent?(effect, .bytes(Data(chunk.utf8))) }
        if ends { onEvent?(effect, .ended) }
    }
}

private func said(_ text: String) -> String {
    let delta = #"{"role":"assistant","content":"\#(text)"}"#
    return #"data: {"id":"c","choices":[{"index":0,"delta":\#(delta),"finish_reason":null}]}"# + "\n\n"
}

private let end =
    #"data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"# + "\n\ndata: [DONE]\n\n"

private let asksForTime =
    #"data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call-1","type":"function","#
    + #""function":{"name":"time","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"# + "\n\ndata: [DONE]\n\n"

@MainActor
private struct World {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString).json")
    let foreground = FakeTransport()
    let background = FakeTransport()

    func chat(time: @escaping @Sendable () async throws -> String = { "noon" }) -> Chat {
        let tool = ChatTool(ToolDefinition(name: "time", description: "The time.")) { _ in try await time() }
        let config = RunConfig(provider: "openai-compatible", model: "m", baseUrl: "http://localhost/v1")
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
