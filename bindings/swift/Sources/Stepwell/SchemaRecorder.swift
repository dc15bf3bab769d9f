import StepwellBindings

/// A decoder without data: it records what a type asks for, and returns values without meaning.
final class Recorder: Decoder {
    private let descriptions: [String: String]
    fileprivate let mapKeys: MapKeys?
    /// The reason why a dictionary has no schema.
    fileprivate let isUnknownMap: Bool
    fileprivate let isSet: Bool
    fileprivate let place: Place
    fileprivate(set) var schema: Schema?
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var codingPath: [any CodingKey] { place.names.map(Name.init) }

    init(_ type: any Decodable.Type, place: Place) {
        descriptions = (type as? any ToolArguments.Type)?.descriptions ?? [:]
        mapKeys = (type as? any Map.Type)?.objectKeys
        isUnknownMap = type is any Map.Type && mapKeys == nil
        isSet = type is any UniqueList.Type
        self.place = place
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try refuseUnknownMap()
        if schema == nil { schema = .object([]) }
        return KeyedDecodingContainer(Properties<Key>(recorder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try refuseUnknownMap()
        return Elements(recorder: self)
    }

    private func refuseUnknownMap() throws {
        if isUnknownMap { throw cannot("a dictionary\(place) whose keys are neither text nor integers nor known cases") }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { Whole(recorder: self) }

    fileprivate func add(_ name: String, _ property: Schema, required: Bool) {
        if let mapKeys { return schema = .map(property, keys: mapKeys) }
        var properties: [(name: String, schema: Schema, description: String?, required: Bool)] = []
        if case .object(let before) = schema { properties = before.filter { $0.name != name } }
        properties.append((name, property, descriptions[name], required))
        schema = .object(properties)
    }

    /// A description of an unknown property is a mistake that would otherwise go unnoticed.
    func checkDescriptions(of type: any Decodable.Type, in schema: Schema) throws {
        guard case .object(let properties) = schema else { return }
        let names = properties.map(\.name)
        if let stray = descriptions.keys.filter({ !names.contains($0) }).sorted().first {
            let known = names.isEmpty ? "it has none" : "it has `\(names.joined(separator: "`, `"))`"
            throw SchemaError(
                description: "\(type).descriptions has `\(stray)`, which is no property in JSON (\(known)); "
                    + "use the names of its coding keys")
        }
    }

    fileprivate func cannot(_ what: String) -> SchemaError {
        SchemaError(description: "\(what) does not tell what it takes; \(advice)")
    }
}

/// The keys of a dictionary that is an object in JSON.
enum MapKeys: Equatable {
    case text
    case integers
    case cases([String])

    /// A key that represents all of them.
    fileprivate var sample: String? {
        switch self {
        case .text: "key"
        case .integers: "0"
        case .cases(let names): names.first
        }
    }
}

private protocol Map {
    /// Nil if the keys cannot be known.
    static var objectKeys: MapKeys? { get }
}

extension Dictionary: Map {
    fileprivate static var objectKeys: MapKeys? {
        if Key.self == String.self { return .text }
        if Key.self == Int.self { return .integers }
        // Other dictionaries are objects only if they say so; otherwise JSON has a list of alternating keys and values.
        guard Key.self is any CodingKeyRepresentable.Type, let cases = Key.self as? any CaseIterable.Type else { return nil }
        return .cases(names(cases))
    }
}

private func names<Key: CaseIterable>(_ type: Key.Type) -> [String] {
    type.allCases.compactMap { ($0 as? any CodingKeyRepresentable)?.codingKey.stringValue }
}

/// Lists whose values are all different.
private protocol UniqueList {}
extension Set: UniqueList {}

private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

private struct Properties<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let recorder: Recorder
    var codingPath: [any CodingKey] { recorder.codingPath }
    /// A dictionary asks for its keys: one value represents all.
    var allKeys: [Key] { recorder.mapKeys?.sample.flatMap(Key.init(stringValue:)).map { [$0] } ?? [] }

    func contains(_ key: Key) -> Bool { true }

    func decodeNil(forKey key: Key) throws -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let found = try Schema.of(type, at: recorder.place.at(key.stringValue))
        recorder.add(key.stringValue, found.schema, required: true)
        return found.sample
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        let found = try Schema.of(type, at: recorder.place.at(key.stringValue))
        recorder.add(key.stringValue, found.schema, required: false)
        return nil
    }

    // A container's own answers for these would count as required.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(type, key) }

    private func optional<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
        let found = try Schema.of(type, at: recorder.place.at(key.stringValue))
        recorder.add(key.stringValue, found.schema, required: false)
        return nil
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        throw recorder.cannot("a nested container")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw recorder.cannot("a nested container")
    }

    func superDecoder() throws -> any Decoder { throw recorder.cannot("a superclass") }

    func superDecoder(forKey key: Key) throws -> any Decoder { throw recorder.cannot("a superclass") }
}

private struct Elements: UnkeyedDecodingContainer {
    let recorder: Recorder
    var currentIndex = 0
    var codingPath: [any CodingKey] { recorder.codingPath }
    var count: Int? { 1 }
    /// One element represents all.
    var isAtEnd: Bool { currentIndex > 0 }

    init(recorder: Recorder) { self.recorder = recorder }

    mutating func decodeNil() throws -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard !isAtEnd else { throw recorder.cannot("a list of different things") }
        let found = try Schema.of(type, at: recorder.place.at("[]"))
        recorder.schema = .list(found.schema, unique: recorder.isSet)
        currentIndex += 1
        return found.sample
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        throw recorder.cannot("a nested container")
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw recorder.cannot("a nested container")
    }

    mutating func superDecoder() throws -> any Decoder { throw recorder.cannot("a superclass") }
}

private struct Whole: SingleValueDecodingContainer {
    let recorder: Recorder
    var codingPath: [any CodingKey] { recorder.codingPath }

    func decodeNil() -> Bool { false }

    /// A type that only wraps another one.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let found = try Schema.of(type, at: recorder.place)
        recorder.schema = found.schema
        return found.sample
    }
}
