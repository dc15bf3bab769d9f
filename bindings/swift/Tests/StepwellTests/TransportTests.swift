import Foundation
import Testing

@testable import Stepwell

private func agent(_ baseUrl: String, client: any HttpTransport) -> Agent {
    Agent(model: .openAICompatible("mock", baseUrl: baseUrl), client: client)
}

/// Counts what goes through another transport.
private final class Counting: HttpTransport, @unchecked Sendable {
    private let inner: URLSessionTransport
    private let lock = NSLock()
    private var urls: [String] = []

    init() throws { inner = try URLSessionTransport() }

    var sent: [String] { lock.withLock { urls } }

    func send(request: HttpRequest, answer: HttpAnswer) async throws {
        lock.withLock { urls.append(request.url) }
        try await inner.send(request: request, answer: answer)
    }
}

@Test("every request goes through the app's client")
func theAppsClient() async throws {
    let mock = try MockLlm(MockLlm.text("Hello"))
    let client = try Counting()
    #expect(try await agent(mock.baseUrl, client: client).run("Hi").text == "Hello")
    #expect(client.sent == ["\(mock.baseUrl)/chat/completions"])
}

@Test("nobody listens there")
func nobodyListens() async throws {
    // Port 9 is `discard`, which nobody runs.
    let agent = agent("http://127.0.0.1:9/v1", client: try URLSessionTransport())
    let error = await thrown(StepwellError.self) { try await agent.run("Hi") }
    #expect(error?.kind == .connection)
    #expect(error?.retryable == true)
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
    for try await update in agent("http://model.example/v1", client: endless).stream("Hi") {
        if case .text = update { break }
    }
    for await _ in endless.givenUp {}
}

@Test("requests have the library's User-Agent, unless the app has one")
func userAgent() throws {
    func sent(_ headers: [HttpHeader], hasUserAgent: Bool = false) throws -> String? {
        let request = HttpRequest(method: "POST", url: "http://model.example/v1", headers: headers, body: Data())
        return try URLSessionTransport.sent(request, hasUserAgent: hasUserAgent).value(forHTTPHeaderField: "user-agent")
    }
    #expect(try sent([]) == "stepwell/\(version()) (Swift)")
    #expect(try sent([HttpHeader(name: "user-agent", value: "mine/1")]) == "mine/1")
    #expect(try sent([], hasUserAgent: true) == nil)
}

@Test("a background session is refused")
func backgroundSession() throws {
    try URLSessionTransport.refuseBackground(identifier: nil)
    #expect(throws: StepwellError.self) { try URLSessionTransport.refuseBackground(identifier: "downloads") }
}

/// Counts how often a connection was paused and resumed.
private final class Connection: @unchecked Sendable {
    private let lock = NSLock()
    private var told: [String] = []

    var log: [String] { lock.withLock { told } }

    func add(_ what: String) { lock.withLock { told.append(what) } }
}

@Test("a connection that is faster than its reader is paused until that has caught up")
func pausing() async throws {
    let connection = Connection()
    let backlog = Backlog(
        limits: .init(pauseBytes: 10, resumeBytes: 4, maxBytes: 100),
        pause: { connection.add("pause") }, resume: { connection.add("resume") })
    let piece = Backlog.Piece.body(Data(repeating: 1, count: 4))
    for _ in 0..<4 { #expect(backlog.add(piece)) }
    #expect(connection.log == ["pause"])
    for _ in 0..<2 { #expect(try await backlog.next() == piece) }
    #expect(connection.log == ["pause"])
    #expect(try await backlog.next() == piece)
    #expect(connection.log == ["pause", "resume"])
    backlog.finish(throwing: nil)
    #expect(try await backlog.next() == piece)
    #expect(try await backlog.next() == nil)
}

@Test("a connection that cannot be paused fails where too much is unread")
func failing() async throws {
    let backlog = Backlog(limits: .init(pauseBytes: .max, resumeBytes: 0, maxBytes: 10))
    #expect(backlog.add(.body(Data(repeating: 1, count: 10))))
    #expect(!backlog.add(.body(Data([1]))))
    backlog.finish(throwing: nil)
    await #expect(throws: URLError.self) { try await backlog.next() }
}

@Test("a reader that waits gets what arrives, and the error at the end")
func waiting() async throws {
    let backlog = Backlog(limits: .pausing)
    let reader = Task {
        var bytes = Data()
        while case .body(let piece)? = try await backlog.next() { bytes += piece }
        return bytes
    }
    for byte in [UInt8](0..<100) { #expect(backlog.add(.body(Data([byte])))) }
    backlog.finish(throwing: nil)
    #expect(try await reader.value == Data(0..<100))
    let broken = Backlog(limits: .pausing)
    let waits = Task { try await broken.next() }
    broken.finish(throwing: URLError(.networkConnectionLost))
    await #expect(throws: URLError.self) { try await waits.value }
}

@Test("without a client it is URLSession on Apple's systems, and the library itself elsewhere")
func theClientOfASystem() async throws {
    #expect(try transport(of: nil, isAppleSystem: true) is URLSessionTransport)
    #expect(try transport(of: nil, isAppleSystem: false) == nil)
    #expect(try transport(of: BuiltInTransport(), isAppleSystem: true) == nil)
    let own = try URLSessionTransport()
    #expect(try transport(of: own, isAppleSystem: true) === own)
    let mock = try MockLlm(MockLlm.text("Hello"))
    #expect(try await Agent(model: mock.model, client: BuiltInTransport()).run("Hi").text == "Hello")
}
