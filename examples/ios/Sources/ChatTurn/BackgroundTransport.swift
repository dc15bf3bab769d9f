#if os(iOS)
    import Foundation

    /// Sends requests that the system carries out while the app is suspended, or is not even running: the whole answer
    /// comes as a file. When it is there, the system wakes the app, or starts it again.
    ///
    /// The id of the effect is stored with the task, so an app that was killed meanwhile finds its run's answer: make the
    /// run by `RunMachine.restore` then, since what it was given to do is still being done.
    ///
    /// The system follows redirects by itself here, with the key and the conversation: the address must be of a server
    /// that makes none to others.
    @MainActor
    public final class BackgroundTransport: NSObject, Transport {
        public static let identifier = "dev.stepwell.examples.chat"

        public var onEvent: (@MainActor (String, StreamEvent) -> Void)?
        /// From `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
        public var onFinished: (() -> Void)?
        private var session: URLSession!

        public override init() {
            super.init()
            let configuration = URLSessionConfiguration.background(withIdentifier: Self.identifier)
            configuration.sessionSendsLaunchEvents = true
            let relay = DownloadRelay(
                tell: { [weak self] effect, event in self?.onEvent?(effect, event) },
                finished: { [weak self] in
                    self?.onFinished?()
                    self?.onFinished = nil
                })
            session = URLSession(configuration: configuration, delegate: relay, delegateQueue: nil)
        }

        public func open(_ effect: String, _ request: URLRequest) {
            let task = session.downloadTask(with: request)
            task.taskDescription = effect
            task.resume()
        }

        public func close(_ effect: String) {
            Task {
                for task in await session.allTasks where task.taskDescription == effect { task.cancel() }
            }
        }

        /// The effects that the system still carries out, from this process or an earlier one.
        public func pending() async -> Set<String> {
            Set(await session.allTasks.compactMap(\.taskDescription))
        }
    }

    private final class DownloadRelay: NSObject, URLSessionDownloadDelegate, Sendable {
        private let tell: @MainActor @Sendable (String, StreamEvent) -> Void
        private let finished: @MainActor @Sendable () -> Void

        init(
            tell: @escaping @MainActor @Sendable (String, StreamEvent) -> Void,
            finished: @escaping @MainActor @Sendable () -> Void
        ) {
            self.tell = tell
            self.finished = finished
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            // The file is gone when this returns.
            let body = (try? Data(contentsOf: location)) ?? Data()
            relay(downloadTask, [opened(downloadTask.response), .bytes(body)])
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            relay(task, [error.map { .failed($0.localizedDescription) } ?? .ended])
        }

        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            DispatchQueue.main.async { [finished] in MainActor.assumeIsolated { finished() } }
        }

        private func relay(_ task: URLSessionTask, _ events: [StreamEvent]) {
            guard let effect = task.taskDescription else { return }
            DispatchQueue.main.async { [tell] in
                MainActor.assumeIsolated { for event in events { tell(effect, event) } }
            }
        }
    }
#endif
