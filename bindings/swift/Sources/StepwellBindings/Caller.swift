import Foundation

/// The task that began a turn, for the app's code that Stepwell calls for the turn: tools, approver, hooks and the rest run
/// with the task's priority and task-local values. Stepwell calls them on threads of its own, where there are none.
package final class Caller: Sendable {
    /// The app's dependencies of the turn whose code runs.
    @TaskLocal package static var deps: (any Sendable)?

    private static let known = Known()

    /// The number by which Stepwell names the caller.
    package let id: UInt64
    private let jobs: AsyncStream<Job>.Continuation
    private let turns = Turns()

    /// Starts a task that inherits from the current one what tasks inherit. It lasts until `end`.
    package init(deps: any Sendable) {
        let (stream, jobs) = AsyncStream.makeStream(of: Job.self)
        self.jobs = jobs
        id = Self.known.nextId()
        Self.known.add(self)
        Self.$deps.withValue(deps) {
            _ = Task {
                for await job in stream { job.begin(Task { await job.run() }) }
            }
        }
    }

    /// Sets how many turns the task has begun, if it is not one.
    package func began(turns count: Int) {
        if turns.add(count - 1) == 0 { over() }
    }

    /// Is called when a turn is over. Code that is called even later, such as that of a failing store, has no caller.
    package func end() {
        if turns.add(-1) == 0 { over() }
    }

    private func over() {
        Self.known.remove(id)
        jobs.finish()
    }

    /// How many there are.
    package static var count: Int { known.count }

    static func of(_ id: UInt64) -> Caller? { id == 0 ? nil : known.caller(id) }

    /// Starts the code in a task that inherits from the caller's.
    fileprivate func start(_ job: Job) -> Bool {
        if case .enqueued = jobs.yield(job) { true } else { false }
    }

    /// The number of turns that are not over.
    private final class Turns: @unchecked Sendable {
        private let lock = NSLock()
        private var count = 1

        func add(_ more: Int) -> Int {
            lock.withLock {
                count += more
                return count
            }
        }
    }

    /// The callers of the turns under way.
    private final class Known: @unchecked Sendable {
        /// Guards all below.
        private let lock = NSLock()
        private var last: UInt64 = 0
        private var callers: [UInt64: Caller] = [:]

        func nextId() -> UInt64 {
            lock.withLock {
                last += 1
                return last
            }
        }

        var count: Int { lock.withLock { callers.count } }

        func add(_ caller: Caller) { lock.withLock { callers[caller.id] = caller } }
        func remove(_ id: UInt64) { lock.withLock { callers[id] = nil } }
        func caller(_ id: UInt64) -> Caller? { lock.withLock { callers[id] } }
    }
}

/// Starts a task for code of the app. Stepwell calls it on one of its threads, which knows the caller of the turn.
func taskOfCaller(_ code: sending @escaping () async -> Void) -> Task<Void, Never> {
    let job = Job(code)
    guard let caller = Caller.of(currentCaller()), caller.start(job) else { return Task { await job.run() } }
    return Task {
        await withTaskCancellationHandler {
            await job.ended.value()
        } onCancel: {
            job.cancel()
        }
    }
}

/// Code that a caller's task starts.
private final class Job: @unchecked Sendable {
    let ended = Promise<Void>()
    /// Is called once.
    private let code: () async -> Void
    /// Guards all below.
    private let lock = NSLock()
    private var task: Task<Void, Never>?
    private var isCancelled = false

    init(_ code: sending @escaping () async -> Void) {
        self.code = code
    }

    func run() async {
        await code()
        ended.keep(())
    }

    func begin(_ task: Task<Void, Never>) {
        let isCancelled = lock.withLock {
            self.task = task
            return self.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = lock.withLock {
            isCancelled = true
            return self.task
        }
        task?.cancel()
    }
}
