import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a transport tells of a stream.
public enum StreamEvent: Sendable {
    case opened(status: Int, contentType: String?, retryAfter: Duration?)
    case bytes(Data)
    case ended
    case failed(String)
}

/// Sends requests, and tells what comes of them under the id of the effect that asked. Called on the main actor only.
@MainActor
public protocol Transport: AnyObject {
    var onEvent: (@MainActor (_ effect: String, _ event: StreamEvent) -> Void)? { get set }
    func open(_ effect: String, _ request: URLRequest)
    func close(_ effect: String)
}

/// Streams over an ordinary session: while the app is in the foreground, and for the seconds that the system grants after.
@MainActor
public final class StreamTransport: NSObject, Transport {
    public var onEvent: (@MainActor (String, StreamEvent) -> Void)?
    private var session: URLSession!
    private var tasks: [String: URLSessionTask] = [:]

    public override init() {
        super.init()
        let relay = Relay { [weak self] effect, event in self?.told(effect, event) }
        session = URLSession(configuration: .default, delegate: relay, delegateQueue: nil)
    }

    public func open(_ effect: String, _ request: URLRequest) {
        let task = session.dataTask(with: request)
        task.taskDescription = effect
        tasks[effect] = task
        task.resume()
    }

    public func close(_ effect: String) {
        tasks.removeValue(forKey: effect)?.cancel()
    }

    private func told(_ effect: String, _ event: StreamEvent) {
        // A stream that was closed has nothing more to say.
        guard tasks[effect] != nil else { return }
        switch event {
        case .ended, .failed: tasks[effect] = nil
        case .opened, .bytes: break
        }
        onEvent?(effect, event)
    }
}

/// Brings what a session tells, on a queue of its own, to the main actor, in order.
final class Relay: NSObject, URLSessionDataDelegate, Sendable {
    private let tell: @MainActor @Sendable (String, StreamEvent) -> Void

    init(tell: @escaping @MainActor @Sendable (String, StreamEvent) -> Void) {
        self.tell = tell
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        relay(dataTask, opened(response))
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        relay(dataTask, .bytes(data))
    }

    /// A redirect would take the key and the conversation elsewhere: it is the answer, and the run fails with it.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        relay(task, error.map { .failed($0.localizedDescription) } ?? .ended)
    }

    private func relay(_ task: URLSessionTask, _ event: StreamEvent) {
        guard let effect = task.taskDescription else { return }
        // The main queue keeps the order, which tasks would not.
        DispatchQueue.main.async { [tell] in
            MainActor.assumeIsolated { tell(effect, event) }
        }
    }
}

/// The head of a response.
func opened(_ response: URLResponse?) -> StreamEvent {
    let http = response as? HTTPURLResponse
    let seconds = http?.value(forHTTPHeaderField: "retry-after").flatMap { Int64($0) }
    return .opened(
        status: http?.statusCode ?? 0,
        contentType: http?.value(forHTTPHeaderField: "content-type"),
        retryAfter: seconds.map { .seconds($0) })
}
