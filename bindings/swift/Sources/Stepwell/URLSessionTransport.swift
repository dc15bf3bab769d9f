import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends an agent's requests with `URLSession`: the system's proxies and VPN, what the configuration says of them, and
/// App Transport Security.
///
///     let agent = try Agent(provider: "openai", model: "gpt-4o-mini", key: key, client: URLSessionTransport())
///
/// There is no limit of time for an answer: a model may think for minutes, and the turn has clocks of its own, see
/// `Timeouts`. No redirect is followed: the request holds the key.
public final class URLSessionTransport: HttpTransport {
    private let session: URLSession
    private let answers = Answers()

    /// A transport with a session of its own; it ends when nobody holds the transport any more.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        session = URLSession(configuration: configuration, delegate: answers, delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    public func send(request: HttpRequest, answer: HttpAnswer) async throws {
        guard let url = URL(string: request.url) else { throw URLError(.badURL) }
        var sent = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: .day)
        sent.httpMethod = request.method
        sent.httpBody = request.body
        for header in request.headers { sent.addValue(header.value, forHTTPHeaderField: header.name) }
        let task = session.dataTask(with: sent)
        let pieces = answers.of(task)
        try await withTaskCancellationHandler {
            task.resume()
            for try await piece in pieces {
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
}

extension TimeInterval {
    fileprivate static let day: TimeInterval = 24 * 60 * 60
}

private enum Piece: Sendable {
    case head(status: UInt16, headers: [HttpHeader])
    case body(Data)
}

/// Hands what comes for each task of a session on.
private final class Answers: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private typealias Pieces = AsyncThrowingStream<Piece, any Error>

    /// Guards `open`.
    private let lock = NSLock()
    private var open: [Int: Pieces.Continuation] = [:]

    func of(_ task: URLSessionTask) -> AsyncThrowingStream<Piece, any Error> {
        let (pieces, continuation) = Pieces.makeStream()
        lock.withLock { open[task.taskIdentifier] = continuation }
        return pieces
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
            tell(dataTask, .head(status: UInt16(clamping: response.statusCode), headers: headers))
        }
        completionHandler(.allow)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        tell(dataTask, .body(data))
    }

    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let continuation = lock.withLock { open.removeValue(forKey: task.taskIdentifier) }
        continuation?.finish(throwing: error)
    }

    private func tell(_ task: URLSessionTask, _ piece: Piece) {
        _ = lock.withLock { open[task.taskIdentifier] }?.yield(piece)
    }
}
