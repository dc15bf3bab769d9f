import Foundation
import StepwellBindings

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends an agent's requests with `URLSession`: with the system's proxies and VPN, as the configuration sets them, and
/// App Transport Security.
///
/// On Apple's systems it is the default. Another configuration is given as
///
///     let agent = Agent(model: .openAI("gpt-5-mini"), client: try URLSessionTransport(configuration: configuration))
///
/// An answer has no time limit here: a model may think for minutes, and the turn has its own clocks, see `Timeouts`. No
/// redirect is followed: the request holds the key. A connection that is faster than its reader is paused; on Linux,
/// whose `URLSession` would send a paused request again, it fails with 64 MiB unread.
public final class URLSessionTransport: HttpTransport {
    private let session: URLSession
    private let hasUserAgent: Bool
    private let answers = Answers()

    /// A transport with a session of its own, which ends when the transport is released.
    ///
    /// - Throws: `StepwellError` for a background configuration, whose tasks do not return an answer in
    /// chunks.
    public init(configuration: URLSessionConfiguration = .ephemeral) throws {
        try Self.refuseBackground(identifier: configuration.identifier)
        hasUserAgent =
            configuration.httpAdditionalHeaders?.keys.contains { ($0 as? String)?.lowercased() == "user-agent" } ?? false
        session = URLSession(configuration: configuration, delegate: answers, delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    /// Only background configurations have an identifier.
    static func refuseBackground(identifier: String?) throws {
        guard let identifier else { return }
        throw StepwellError.misuse(
            "the background session `\(identifier)` gives no answer piece by piece",
            advice: "give another configuration; for the background see `RunMachine` and examples/ios")
    }

    public func send(request: HttpRequest, answer: HttpAnswer) async throws {
        let task = session.dataTask(with: try Self.sent(request, hasUserAgent: hasUserAgent))
        let backlog = answers.backlog(of: task)
        try await withTaskCancellationHandler {
            task.resume()
            while let piece = try await backlog.next() {
                switch piece {
                case .head(let status, let headers): try answer.opened(status: status, headers: headers)
                case .body(let bytes):
                    guard await answer.received(bytes: bytes) else { return task.cancel() }
                }
            }
        } onCancel: {
            task.cancel()
        }
    }

    /// The request as it goes out: with the library's `User-Agent`, unless the app or its configuration has one.
    static func sent(_ request: HttpRequest, hasUserAgent: Bool) throws -> URLRequest {
        guard let url = URL(string: request.url) else { throw URLError(.badURL) }
        var sent = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: .day)
        sent.httpMethod = request.method
        // A `GET` has none.
        if !request.body.isEmpty { sent.httpBody = request.body }
        for header in request.headers { sent.addValue(header.value, forHTTPHeaderField: header.name) }
        if !hasUserAgent, sent.value(forHTTPHeaderField: "User-Agent") == nil {
            sent.setValue("stepwell/\(version()) (Swift)", forHTTPHeaderField: "User-Agent")
        }
        return sent
    }
}

extension TimeInterval {
    fileprivate static let day: TimeInterval = 24 * 60 * 60
}

/// Passes the answers of a session's tasks on.
private final class Answers: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// Guards `open`.
    private let lock = NSLock()
    private var open: [Int: Backlog] = [:]

    func backlog(of task: URLSessionTask) -> Backlog {
        #if canImport(FoundationNetworking)
            // A task that is resumed there begins again: the request would be sent, and paid for, twice.
            let backlog = Backlog(limits: .failing)
        #else
            let backlog = Backlog(limits: .pausing, pause: { task.suspend() }, resume: { task.resume() })
        #endif
        lock.withLock { open[task.taskIdentifier] = backlog }
        return backlog
    }

    func urlSession(
        _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse {
            let headers = response.allHeaderFields.compactMap { name, value -> HttpHeader? in
                guard let name = name as? String, let value = value as? String else { return nil }
                return HttpHeader(name: name.lowercased(), value: value)
            }
            add(.head(status: UInt16(clamping: response.statusCode), headers: headers), to: dataTask)
        }
        completionHandler(.allow)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        add(.body(data), to: dataTask)
    }

    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        lock.withLock { open.removeValue(forKey: task.taskIdentifier) }?.finish(throwing: error)
    }

    private func add(_ piece: Backlog.Piece, to task: URLSessionTask) {
        guard let backlog = lock.withLock({ open[task.taskIdentifier] }) else { return }
        if !backlog.add(piece) { task.cancel() }
    }
}
