import Foundation

/// Tells the model what a property is for and what it may be, in the arguments of a tool or in a typed answer.
///
///     struct Trip: Decodable {
///         let city: String
///         @Guide("How long.", .range(1...14)) var days: Int
///         @Guide("What to bring.", .count(1...5), .each(.pattern("^[a-z ]+$"))) var things: [String]
///         @Guide("Left out if it does not matter.") var hotel: String?
///     }
///
/// A value that breaks a rule goes back to the model before any code of the app is called. A rule for another type of
/// property does not compile. A guided property is a `var`, which only decoding sets; a type that the app makes too has an
/// initializer of its own, which sets it as any other property.
@propertyWrapper
public struct Guide<Value> {
    private var value: Value?
    /// Which guided property of its type it is, in a value without meaning that a schema was read off; else zero.
    fileprivate private(set) var number = 0

    /// Describes the property.
    public init(_ description: String, _ rules: GuideRule<Value>...) {
        let (words, element) = (rules.flatMap(\.words), rules.flatMap(\.element))
        GuideLog.current?.add(GuideWords(description: description, words: words, element: element))
        value = nil
    }

    fileprivate init(decoded value: Value, number: Int = 0) {
        self.value = value
        self.number = number
    }

    public var wrappedValue: Value {
        get {
            guard let value else { preconditionFailure("a guided property was read before it was set") }
            return value
        }
        set { value = newValue }
    }
}

extension Guide: Sendable where Value: Sendable {}

extension Guide: Equatable where Value: Equatable {
    public static func == (one: Guide, other: Guide) -> Bool { one.value == other.value }
}

extension Guide: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension Guide: Decodable where Value: Decodable {
    public init(from decoder: any Decoder) throws {
        if let recorder = decoder as? Recorder {
            self.init(decoded: try recorder.wrapped(Value.self))
        } else {
            self.init(decoded: try Value(from: decoder))
        }
    }
}

extension Guide: Encodable where Value: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try wrappedValue.encode(to: encoder)
    }
}

extension KeyedDecodingContainer {
    /// Decodes a guided property that may be left out.
    public func decode<Value: Decodable>(_: Guide<Value?>.Type, forKey key: Key) throws -> Guide<Value?> {
        let guided = try decodeIfPresent(Guide<Value>.self, forKey: key)
        return Guide<Value?>(decoded: guided?.wrappedValue, number: guided?.number ?? 0)
    }
}

extension KeyedEncodingContainer {
    /// Encodes a guided property that may be left out.
    public mutating func encode<Value: Encodable>(_ guided: Guide<Value?>, forKey key: Key) throws {
        try encodeIfPresent(guided.wrappedValue, forKey: key)
    }
}

/// A guided property in a value that a schema was read off.
protocol GuidedProperty {
    var order: Int { get }
    func numbered(_ number: Int) -> Self
}

extension Guide: GuidedProperty {
    var order: Int { number }

    func numbered(_ number: Int) -> Guide {
        var guide = self
        guide.number = number
        return guide
    }
}

/// What a guide adds to the schema of its property.
struct GuideWords: Sendable {
    let description: String?
    let words: [SchemaWord]
    let element: [SchemaWord]
}

/// The guides of a type, in the order of its properties: an initializer comes by them before it decodes anything.
final class GuideLog: @unchecked Sendable {
    /// That of the type that is recorded.
    @TaskLocal static var current: GuideLog?

    /// Only the task that records uses it.
    private(set) var guides: [GuideWords] = []

    func add(_ guide: GuideWords) { guides.append(guide) }
}
