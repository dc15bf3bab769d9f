import StepwellBindings

/// A decoder without data: it records what a type asks for, and returns values without meaning.
final class Recorder: Decoder {
    fileprivate let mapKeys: MapKeys?
    /// The reason why a dictionary has no schema.
    fileprivate let isUnknownMap: Bool
    fileprivate let isSet: Bool
    fileprivate let place: Place
    /// Which case of an enum is decoded.
    fileprivate let caseNumber: Int
    /// The names of the cases, if the type is an enum whose cases have values.
    fileprivate(set) var caseNames: [String]?
    /// Whether it is one whose cases cannot be known.
    fileprivate var hasUnknownCases = false
    /// What records the values of the case.
    fileprivate var ofCase: Recorder?
    /// The guided properties that were decoded, by their names in JSON.
    fileprivate var guided: [String] = []
    fileprivate(set) var schema: Schema?
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var codingPath: [any CodingKey] { place.names.map(Name.init) }

    init(_ type: any Decodable.Type, place: Place, caseNumber: Int = 0) {
        self.caseNumber = caseNumber
        mapKeys = (type as? any Map.Type)?.objectKeys
        isUnknownMap = type is any Map.Type && mapKeys == nil
        isSet = type is any UniqueList.Type
        self.place = place
    }

    /// The schema of the values of the case that was decoded.
    var caseSchema: Schema? { ofCase?.schema }

    /// Decodes a value without meaning, and writes down what it asks for.
    func record<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let log = GuideLog()
        let sample: Value
        do {
            sample = try GuideLog.$current.withValue(log) { try Value(from: self) }
        } catch let error as SchemaError {
            throw error
        } catch {
            if hasUnknownCases {
                throw SchemaError(
                    description: "\(type)\(place) has cases with values that cannot be known; "
                        + "give it `enum CodingKeys: CodingKey, CaseIterable` with the names of its cases")
            }
            let reason = "\(type)\(place) decodes itself in a way that does not tell what it takes: \(sentence(of: error))"
            throw SchemaError(description: "\(reason); \(advice)")
        }
        try apply(log.guides, to: sample, type)
        return sample
    }

    /// Adds what guides say to the schemas of their properties, which are in the order of the declaration in both.
    private func apply(_ guides: [GuideWords], to sample: Any, _ type: Any.Type) throws {
        if guides.isEmpty { return }
        let decoded = Mirror(reflecting: sample).children.compactMap { ($0.value as? any GuidedProperty)?.order }
        guard case .object(var properties) = schema, decoded.count == guides.count else {
            throw SchemaError(description: "the guides of \(type)\(place) are not those of its own properties; \(advice)")
        }
        for (number, guide) in zip(decoded, guides) where number > 0 {
            guard let at = properties.firstIndex(where: { $0.name == guided[number - 1] }) else { continue }
            properties[at].schema = .guided(properties[at].schema, guide)
        }
        schema = .object(properties)
    }

    /// Records a type that only wraps another one.
    func wrapped<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let found = try Schema.of(type, at: place)
        schema = found.schema
        return found.sample
    }

    /// Records a property, and returns its value without meaning.
    fileprivate func property<Value: Decodable>(_ type: Value.Type, _ name: String, required: Bool) throws -> Value {
        let found = try Schema.of(type, at: place.at(name))
        add(name, found.schema, required: required)
        guard let guide = found.sample as? any GuidedProperty else { return found.sample }
        guided.append(name)
        return guide.numbered(guided.count) as? Value ?? found.sample
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

    private func add(_ name: String, _ property: Schema, required: Bool) {
        if let mapKeys { return schema = .map(property, keys: mapKeys) }
        var properties: [(name: String, schema: Schema, required: Bool)] = []
        if case .object(let before) = schema { properties = before.filter { $0.name != name } }
        properties.append((name, property, required))
        schema = .object(properties)
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

private func allCases<Key: CaseIterable>(_ type: Key.Type) -> [Any] { Array(type.allCases) }

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
    /// A dictionary asks for its keys: one value represents all. An enum asks for its case.
    var allKeys: [Key] {
        if let mapKeys = recorder.mapKeys { return mapKeys.sample.flatMap(Key.init(stringValue:)).map { [$0] } ?? [] }
        guard let type = Key.self as? any CaseIterable.Type, let all = allCases(type) as? [Key] else {
            recorder.hasUnknownCases = true
            return []
        }
        recorder.caseNames = all.map(\.stringValue)
        return all.isEmpty ? [] : [all[recorder.caseNumber]]
    }

    func contains(_ key: Key) -> Bool { true }

    func decodeNil(forKey key: Key) throws -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try recorder.property(type, key.stringValue, required: true)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try optional(type, key)
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
        let value = try recorder.property(type, key.stringValue, required: false)
        // The guide of the property says more about it.
        return value is any GuidedProperty ? value : nil
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        // The values of an enum's case.
        guard recorder.caseNames != nil else { throw recorder.cannot("a nested container") }
        let ofCase = Recorder(String.self, place: recorder.place.at(key.stringValue))
        recorder.ofCase = ofCase
        return try ofCase.container(keyedBy: type)
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
        try recorder.wrapped(type)
    }
}
