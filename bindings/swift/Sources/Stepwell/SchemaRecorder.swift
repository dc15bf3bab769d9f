/// A decoder without data: it writes down what a type asks it for, and gives it values that mean nothing.
final class Recorder: Decoder {
    private let descriptions: [String: String]
    fileprivate let isMap: Bool
    fileprivate let isSet: Bool
    fileprivate let place: Place
    fileprivate(set) var schema: Schema?
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var codingPath: [any CodingKey] { place.names.map(Name.init) }

    init(_ type: any Decodable.Type, place: Place) {
        descriptions = (type as? any ToolArguments.Type)?.descriptions ?? [:]
        isMap = type is any TextMap.Type
        isSet = type is any UniqueList.Type
        self.place = place
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        if schema == nil { schema = .object([]) }
        return KeyedDecodingContainer(Properties<Key>(recorder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { Elements(recorder: self) }

    func singleValueContainer() -> any SingleValueDecodingContainer { Whole(recorder: self) }

    fileprivate func add(_ name: String, _ property: Schema, required: Bool) {
        guard !isMap else { return schema = .map(property) }
        var properties: [(name: String, schema: Schema, description: String?, required: Bool)] = []
        if case .object(let before) = schema { properties = before.filter { $0.name != name } }
        properties.append((name, property, descriptions[name], required))
        schema = .object(properties)
    }

    fileprivate func cannot(_ what: String) -> SchemaError {
        SchemaError(description: "\(what) does not tell what it takes; \(advice)")
    }
}

/// Dictionaries whose keys are text: objects in JSON.
private protocol TextMap {}
extension Dictionary: TextMap where Key == String {}

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
    /// A dictionary asks what there is: one value tells of all.
    var allKeys: [Key] { recorder.isMap ? [Key(stringValue: "key")].compactMap { $0 } : [] }

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
    /// One element tells of all.
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

    /// A type that is nothing but another one.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let found = try Schema.of(type, at: recorder.place)
        recorder.schema = found.schema
        return found.sample
    }
}
