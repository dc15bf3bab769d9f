import Foundation

/// A value that comes later, for any number of tasks.
package final class Promise<Value: Sendable>: @unchecked Sendable {
    /// Guards all below.
    private let lock = NSLock()
    private var kept: Value?
    private var waiting: [CheckedContinuation<Value, Never>] = []

    package init() {}

    package var isKept: Bool { lock.withLock { kept != nil } }

    /// Sets the value, unless it is set already.
    package func keep(_ value: Value) {
        let waiting = lock.withLock {
            guard kept == nil else { return [CheckedContinuation<Value, Never>]() }
            kept = value
            defer { self.waiting = [] }
            return self.waiting
        }
        for one in waiting { one.resume(returning: value) }
    }

    /// Waits for the value.
    package func value() async -> Value {
        await withCheckedContinuation { continuation in
            let kept = lock.withLock {
                if self.kept == nil { waiting.append(continuation) }
                return self.kept
            }
            if let kept { continuation.resume(returning: kept) }
        }
    }
}
