import Foundation
import Testing

@testable import Stepwell

private func agent(_ baseUrl: String, client: any HttpTransport) throws -> Agent {
    try Agent(provider: "openai-compatible", model: "mock", baseUrl: baseUrl, client: client)
}

/// Counts what goes through another transport.
private final class Counting: HttpTransport, @unchecked Sendable {
    private let inner = URLSessionTransport()
    private let lock = NSLock()
    private var urls: [String] = []

    var sent: [String] { lock.withLock { urls } }

    func send(request: HttpRequest, answer: HttpAnswer) async throws {
        lock.withLock { urls.append(request.url) }
        try await inner.send(request: request, answer: answer)
    }
}

@Test("every request goes through the app's client")
func theAppsClient() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    let client = Counting()
    let finished = try await agent(mock.baseUrl, client: client).sendAndWait("Hi")
    #expect(finished.text == "Hello")
    #expect(client.sent == ["\(mock.baseUrl)/chat/completions"])
}

@Test("nobody listens there")
func nobodyListens() async throws {
    // Port 9 is `discard`, which nobody runs.
    let turn = try agent("http://127.0.0.1:9/v1", client: URLSessionTransport()).startTurn(text: "Hi")
    let finished = try await turn.finish()
    #expect(finished.outcome.problem?.kind == .connectionFailed)
}

/// An answer without an end.
private final class Endless: HttpTransport {
    let givenUp: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init() { (givenUp, end) = AsyncStream.makeStream() }

    func send(request _: HttpRequest, answer: HttpAnswer) async throws {
        defer { end.finish() }
        try answer.opened(
            status: 200, headers: [HttpHeader(name: "content-type", value: "text/event-stream")])
        let piece = Data("data: {\"choices\":[{\"delta\":{\"content\":\"on and \"}}]}\n\n".utf8)
        while await answer.received(bytes: piece) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

@Test("a request that nobody waits for is given up")
func givenUp() async throws {
    let endless = Endless()
    for try await event in try agent("http://model.example/v1", client: endless).send("Hi") {
        if case .textMessageContent = event { break }
    }
    for await _ in endless.givenUp {}
}
