import Foundation
import StepwellBindings

/// The unread part of an answer. It is bounded: a connection that is faster than its reader is paused, or fails.
final class Backlog: @unchecked Sendable {
    enum Piece: Sendable, Equatable {
        case head(status: UInt16, headers: [HttpHeader])
        case body(Data)
    }

    struct Limits {
        /// The number of unread bytes from which on the connection is paused.
        var pauseBytes: Int
        /// The number of unread bytes at which the connection is resumed.
        var resumeBytes: Int
        /// The number of unread bytes beyond which the connection fails.
        var maxBytes: Int

        /// For a connection that can be paused: bytes in transit meanwhile still arrive.
        static let pausing = Limits(pauseBytes: 256 << 10, resumeBytes: 64 << 10, maxBytes: 64 << 20)
        /// For a connection that cannot be paused.
        static let failing = Limits(pauseBytes: .max, resumeBytes: 0, maxBytes: 64 << 20)
    }

    private let limits: Limits
    private let pause: @Sendable () -> Void
    private let resume: @Sendable () -> Void
    /// Guards all below. The connection is paused and resumed while the lock is held, in the order of the decisions.
    private let lock = NSLock()
    private var pieces: [Piece] = []
    /// The number of `pieces` that are read.
    private var read = 0
    private var bytes = 0
    private var isPaused = false
    private var end: Result<Void, any Error>?
    private var reader: CheckedContinuation<Void, Never>?

    init(
        limits: Limits, pause: @escaping @Sendable () -> Void = {}, resume: @escaping @Sendable () -> Void = {}
    ) {
        self.limits = limits
        self.pause = pause
        self.resume = resume
    }

    /// Adds arrived bytes. `false` if there are too many: the answer has failed, and its connection should be closed.
    func add(_ piece: Piece) -> Bool {
        wake {
            guard end == nil else { return false }
            if case .body(let data) = piece { bytes += data.count }
            guard bytes <= limits.maxBytes else {
                pieces = []
                read = 0
                end = .failure(URLError(.dataLengthExceedsMaximum))
                return false
            }
            pieces.append(piece)
            if !isPaused, bytes >= limits.pauseBytes {
                isPaused = true
                pause()
            }
            return true
        }
    }

    /// Ends the answer, for this reason if it failed.
    func finish(throwing error: (any Error)?) {
        wake { end = end ?? error.map(Result.failure) ?? .success(()) }
    }

    /// Returns the next chunk, when it is there; nothing after the last.
    func next() async throws -> Piece? {
        while true {
            if let taken = try take() { return taken }
            if lock.withLock({ end != nil && read == pieces.count }) { return try take() }
            await withCheckedContinuation { continuation in
                let isReady = lock.withLock {
                    if end != nil || read < pieces.count { return true }
                    reader = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    private func take() throws -> Piece? {
        try lock.withLock {
            guard read < pieces.count else {
                try end?.get()
                return nil
            }
            let piece = pieces[read]
            read += 1
            if read == pieces.count {
                pieces.removeAll(keepingCapacity: true)
                read = 0
            }
            if case .body(let data) = piece { bytes -= data.count }
            if isPaused, bytes <= limits.resumeBytes {
                isPaused = false
                resume()
            }
            return piece
        }
    }

    /// Changes the state, and wakes the reader.
    private func wake<Value>(_ change: () -> Value) -> Value {
        let (value, reader) = lock.withLock {
            let value = change()
            defer { self.reader = nil }
            return (value, self.reader)
        }
        reader?.resume()
        return value
    }
}
