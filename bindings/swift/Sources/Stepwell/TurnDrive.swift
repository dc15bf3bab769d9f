import Foundation
import StepwellBindings

/// A turn of Stepwell's own from its beginning to what it came to. Its events are taken once: by an iterator, or by whoever
/// waits for the result alone.
final class TurnDrive: @unchecked Sendable {
    private let provider: String
    private let begun: Result<FfiTurn, any Error>
    /// What the turn came to.
    private let ended = Promise<Result<Finished, any Error>>()
    /// Guards all below.
    private let lock = NSLock()
    private var caller: Caller?
    private var isTaken = false
    /// Is kept once a call of `suspend` has ended: whether it has suspended the turn.
    private var suspending: Promise<Bool>?

    init(provider: String, caller: Caller, begun: Result<FfiTurn, any Error>) {
        self.provider = provider
        self.caller = caller
        self.begun = begun
    }

    deinit {
        // The turn is cancelled as Stepwell's own is released.
        caller?.end()
    }

    /// Stepwell's own turn.
    ///
    /// - Throws: why it could not begin.
    var turn: FfiTurn {
        get throws { try begun.get() }
    }

    func cancel() {
        try? turn.cancel()
    }

    /// Takes the events.
    func take() throws {
        let isFirst = lock.withLock {
            defer { isTaken = true }
            return !isTaken
        }
        if !isFirst {
            throw StepwellError.misuse(
                "the events of this turn were taken already",
                advice: "iterate over them once, or wait for `result`; for another turn call `stream` again")
        }
    }

    /// The next events, for who has taken them; none when the turn is over.
    func nextBatch() async throws -> [Event] {
        let turn = try turn
        // The generated code waits on when its task is cancelled, so the turn must be cancelled explicitly.
        let events = await withTaskCancellationHandler {
            await turn.nextBatch()
        } onCancel: {
            turn.cancel()
        }
        if events.isEmpty {
            let suspending = lock.withLock { self.suspending }
            if await suspending?.value() == true { return [] }
            end(turn)
            _ = try await finished()
        }
        return events
    }

    /// Lets go of events that were taken and not read to their end.
    func abandon() {
        guard let turn = try? turn, !ended.isKept else { return }
        turn.cancel()
        end(turn)
    }

    /// Waits for a turn with a complete answer.
    func finished() async throws -> Finished {
        let turn = try turn
        let isFirst = lock.withLock {
            defer { isTaken = true }
            return !isTaken
        }
        if isFirst { end(turn) }
        let finished = try await withTaskCancellationHandler {
            try await ended.value().get()
        } onCancel: {
            turn.cancel()
        }
        guard var problem = problemOf(outcome: finished.outcome) else { return finished }
        problem.model = finished.model
        if case .cancelled = finished.outcome { try Task.checkCancellation() }
        let asked = finished.model?.provider ?? provider
        throw StepwellError(problem, provider: asked, turn: TurnResult<Void>(finished) { _, _ in })
    }

    func suspend() async throws -> String {
        let turn = try turn
        let suspending = Promise<Bool>()
        lock.withLock { self.suspending = suspending }
        do {
            let snapshot = try await turn.suspend()
            over(.failure(StepwellError.misuse("the turn was suspended", advice: "revive it by what `suspend` returned")))
            suspending.keep(true)
            return snapshot
        } catch {
            suspending.keep(false)
            throw error
        }
    }

    /// Waits for the end in the background, once.
    private func end(_ turn: FfiTurn) {
        Task {
            do {
                over(.success(try await turn.finish()))
            } catch {
                // It was asked for before, and is kept already.
                over(.failure(error))
            }
        }
    }

    private func over(_ result: Result<Finished, any Error>) {
        let caller = lock.withLock {
            defer { self.caller = nil }
            return self.caller
        }
        caller?.end()
        ended.keep(result)
    }
}
