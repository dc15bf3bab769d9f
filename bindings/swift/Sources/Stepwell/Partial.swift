import Foundation
import StepwellBindings

/// What there is of a typed answer while it streams. It has the properties of the type, each of which is nil until it is
/// there; the compiler knows them.
///
///     for try await trip in agent.stream("Where to?", generating: Trip.self).partials {
///         show(trip.city ?? "…", trip.days.map(String.init) ?? "")
///     }
///
/// A text grows, a list has its complete elements, any other value is there once it is complete. Nothing is checked yet: what
/// counts is the turn's `result`. A computed property stays nil.
@dynamicMemberLookup
public struct Partial<Output: Decodable & Sendable>: Sendable {
    /// The answer so far, as JSON.
    public let json: JsonValue
    private let properties: PropertyNames<Output>

    init(json: JsonValue, properties: PropertyNames<Output>) {
        self.json = json
        self.properties = properties
    }

    /// The property, if it is there.
    public subscript<Value: Decodable>(dynamicMember path: KeyPath<Output, Value>) -> Value? {
        value(of: path)
    }

    /// The property, if it is there, and if it was not left out.
    public subscript<Value: Decodable>(dynamicMember path: KeyPath<Output, Value?>) -> Value? {
        value(of: path)
    }

    private func value<Value: Decodable>(of path: AnyKeyPath) -> Value? {
        guard let name = properties.name(of: path),
            let object = try? JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any],
            let value = object[name]
        else { return nil }
        if let list = Value.self as? any PartialList.Type, let elements = value as? [Any] {
            return list.complete(elements) as? Value
        }
        return decoded(value)
    }
}

/// What there is of a turn's answer, as it comes.
public struct PartialStream<Output: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Partial<Output>

    fileprivate let turn: Turn<Output>

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(events: turn.events.makeAsyncIterator())
    }

    /// Takes the updates of the turn.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let events: EventStream<Output>.AsyncIterator
        private let answer = PartialValue()
        private let properties = PropertyNames<Output>()

        fileprivate init(events: EventStream<Output>.AsyncIterator) { self.events = events }

        public mutating func next() async throws -> Partial<Output>? {
            while let event = try await events.next() {
                guard case .partialOutput(let partial) = event else { continue }
                try answer.apply(changes: partial.changes)
                if let json = answer.value() { return Partial(json: json, properties: properties) }
            }
            return nil
        }
    }
}

extension Turn where Output: Decodable {
    /// The answer as it comes, with the properties of its type. It takes the updates of the turn.
    public var partials: PartialStream<Output> { PartialStream(turn: self) }
}

/// A list, of which an incomplete last element is left out.
private protocol PartialList {
    static func complete(_ elements: [Any]) -> Self
}

extension Array: PartialList where Element: Decodable {
    fileprivate static func complete(_ elements: [Any]) -> [Element] {
        var complete: [Element] = []
        for element in elements {
            guard let element: Element = decoded(element) else { break }
            complete.append(element)
        }
        return complete
    }
}

private func decoded<Value: Decodable>(_ value: Any) -> Value? {
    guard let data = try? JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed) else { return nil }
    return try? decodeArguments(Value.self, from: JsonValue(text: String(decoding: data, as: UTF8.self)))
}
