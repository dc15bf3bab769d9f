import StepwellBindings

extension ContextOverflow {
    /// The newest messages that fill no more than this part of the room, for `Trimmed.keep`: half of it leaves room to
    /// continue for a while.
    public func newest(_ part: Double) -> [String] {
        newestMessages(overflow: self, part: part)
    }
}

extension HopContext {
    /// The number of the model with this name; nil if there is none.
    public func number(of model: String) -> Int? {
        models.firstIndex { $0.name.model == model }
    }
}

extension Outcome {
    /// What kept the turn from a complete answer; nil if the answer is complete.
    public var problem: Problem? { problemOf(outcome: self) }
}

extension Event {
    /// The event as JSON: one of AG-UI in AG-UI's form, with its `type` in capitals.
    public func toJson() -> JsonValue { eventToJson(event: self) }
}

/// The events of a turn as they are; see `Turn.events`. They are taken once, in the place of the updates.
public struct EventStream<Output: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Event

    let turn: Turn<Output>

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(turn)
    }

    /// Takes the events of a turn, and cancels it when it is released before they are over.
    public final class AsyncIterator: AsyncIteratorProtocol {
        private let turn: Turn<Output>
        private var isReading = false
        private var ready: ArraySlice<Event> = []

        fileprivate init(_ turn: Turn<Output>) {
            self.turn = turn
        }

        deinit {
            if isReading { turn.drive.abandon() }
        }

        public func next() async throws -> Event? {
            if let event = ready.popFirst() { return event }
            if !isReading {
                try turn.drive.take()
                isReading = true
            }
            ready = try await turn.drive.nextBatch()[...]
            return ready.popFirst()
        }
    }
}
