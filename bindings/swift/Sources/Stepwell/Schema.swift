import Foundation
import StepwellBindings

/// The reason why a type has no JSON Schema.
public struct SchemaError: Error, Sendable, CustomStringConvertible {
    public let description: String
}

/// Derives the JSON Schema of a type from its `Decodable` conformance: of a tool's arguments, or of a typed answer.
///
///     struct Person: Decodable {
///         let name: String
///         @Guide("Only numbers later than this.") var since: Date?
///     }
///
/// An optional property may be left out, all others are required; a `Guide` says more of one. Supported are text, numbers,
/// truth values, `Date` (ISO 8601), `URL`, `UUID`, `Data` (Base64), arrays, sets, dictionaries with text or integers as keys,
/// enums of text or integers that are `CaseIterable`, enums whose cases have values, and types made of these. An enum whose
/// cases have values lists them once more: `enum CodingKeys: CodingKey, CaseIterable { case circle, square }`.
///
/// - Throws: `SchemaError` where the type does not tell what it takes. A hand-written decoder may read values that are not
///   there yet: such a tool is given its `parameters`.
public func jsonSchema<Value: Decodable>(of type: Value.Type) throws -> JsonValue {
    JsonValue(text: try Schema.of(type, at: Place()).schema.json)
}

/// Decodes the model's text.
public func decodeArguments<Value: Decodable>(_ type: Value.Type, from json: JsonValue) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try json.decode(with: decoder)
}

let advice = "give the tool's `parameters`"

/// The place of a type within another one.
struct Place: CustomStringConvertible {
    private(set) var names: [String] = []
    private var types: [ObjectIdentifier] = []

    var description: String { names.isEmpty ? "" : " at \(names.joined(separator: "."))" }

    func isWithin(_ type: Any.Type) -> Bool { types.contains(ObjectIdentifier(type)) }

    func within(_ type: Any.Type) -> Place {
        var place = self
        place.types.append(ObjectIdentifier(type))
        return place
    }

    func at(_ name: String) -> Place {
        var place = self
        place.names.append(name)
        return place
    }
}

/// A JSON Schema, with its properties in the order in which the type decodes them.
indirect enum Schema {
    case plain(type: String, words: [String] = [])
    case choice(type: String, json: [String])
    case list(Schema, unique: Bool)
    case map(Schema, keys: MapKeys)
    case object([(name: String, schema: Schema, required: Bool)])
    /// One property of these, which are the cases of an enum.
    case cases([(name: String, schema: Schema)])
    case guided(Schema, GuideWords)

    /// A schema, and a value of the type for decoders that continue.
    typealias Found<Value> = (schema: Schema, sample: Value)

    static func of<Value: Decodable>(_ type: Value.Type, at place: Place) throws -> Found<Value> {
        if let (schema, sample) = simple(type) as? (Schema, Value) {
            return (schema, sample)
        }
        if let choice = type as? any CaseIterable.Type, let (schema, sample) = cases(choice) as? (Schema, Value) {
            return (schema, sample)
        }
        guard !place.isWithin(type) else {
            throw SchemaError(description: "\(type)\(place) holds itself, and is too deep to be spelled out; \(advice)")
        }
        let recorder = Recorder(type, place: place.within(type))
        let sample = try recorder.record(type)
        guard let names = recorder.caseNames else { return (recorder.schema ?? .object([]), sample) }
        // An enum is decoded once for each of its cases.
        let cases = try names.indices.map { number in
            let recorder = Recorder(type, place: place.within(type), caseNumber: number)
            _ = try recorder.record(type)
            return (names[number], recorder.caseSchema ?? .object([]))
        }
        return (.cases(cases), sample)
    }

    private static func simple(_ type: any Decodable.Type) -> (Schema, any Decodable)? {
        func plain(_ name: String, _ sample: any Decodable, _ words: String...) -> (Schema, any Decodable) {
            (.plain(type: name, words: words), sample)
        }
        /// A type with less room than JSON's integers have without loss states its range.
        func integer<Integer: FixedWidthInteger & Decodable>(_: Integer.Type) -> (Schema, any Decodable) {
            let least = Integer.isSigned && Integer.bitWidth == 64 ? [] : ["\"minimum\":\(Integer.min)"]
            let most = Integer.bitWidth == 64 ? [] : ["\"maximum\":\(Integer.max)"]
            return (.plain(type: "integer", words: least + most), Integer.zero)
        }
        switch type {
        case is String.Type: return plain("string", "")
        case is Bool.Type: return plain("boolean", false)
        case is Double.Type: return plain("number", 0.0)
        case is Float.Type: return plain("number", Float(0))
        case is Decimal.Type: return plain("number", Decimal(0))
        case let type as any (FixedWidthInteger & Decodable).Type: return integer(type)
        case is Date.Type: return plain("string", Date(timeIntervalSince1970: 0), #""format":"date-time""#)
        case is URL.Type: return plain("string", URL(fileURLWithPath: "/"), #""format":"uri""#)
        case is UUID.Type: return plain("string", UUID(), #""format":"uuid""#)
        case is Data.Type: return plain("string", Data(), #""contentEncoding":"base64""#)
        default: return nil
        }
    }

    /// The values of an enum.
    private static func cases<Choice: CaseIterable>(_ type: Choice.Type) -> (Schema, Any)? {
        let raw = type.allCases.map { ($0 as? any RawRepresentable)?.rawValue as Any }
        guard let sample = type.allCases.first else { return nil }
        if let names = raw as? [String] {
            return (.choice(type: "string", json: names.map(quoted)), sample)
        }
        if let numbers = raw as? [Int] {
            return (.choice(type: "integer", json: numbers.map(String.init)), sample)
        }
        return nil
    }

    var json: String { "{\(fields.joined(separator: ","))}" }

    private var fields: [String] {
        switch self {
        case .plain(let type, let words):
            return ["\"type\":\(quoted(type))"] + words
        case .choice(let type, let values):
            return ["\"type\":\(quoted(type))", "\"enum\":[\(values.joined(separator: ","))]"]
        case .list(let items, let unique):
            return ["\"type\":\"array\"", "\"items\":\(items.json)"] + (unique ? ["\"uniqueItems\":true"] : [])
        case .map(let values, let keys):
            let names =
                switch keys {
                case .text: [String]()
                case .integers: [#""propertyNames":{"pattern":"^-?[0-9]+$"}"#]
                case .cases(let names): ["\"propertyNames\":{\"enum\":[\(names.map(quoted).joined(separator: ","))]}"]
                }
            return ["\"type\":\"object\"", "\"additionalProperties\":\(values.json)"] + names
        case .object(let properties):
            let described = properties.map { "\(quoted($0.name)):\($0.schema.json)" }
            let required = properties.filter(\.required).map { quoted($0.name) }
            return [
                "\"type\":\"object\"",
                "\"properties\":{\(described.joined(separator: ","))}",
                "\"required\":[\(required.joined(separator: ","))]",
            ]
        case .cases(let cases):
            let each = cases.map { name, schema in
                let only = Schema.object([(name, schema, true)]).fields + ["\"additionalProperties\":false"]
                return "{\(only.joined(separator: ","))}"
            }
            return ["\"type\":\"object\"", "\"anyOf\":[\(each.joined(separator: ","))]"]
        case .guided(.list(let items, let unique), let guide) where !guide.element.isEmpty:
            let element = GuideWords(description: nil, words: guide.element, element: [])
            let whole = GuideWords(description: guide.description, words: guide.words, element: [])
            return Schema.guided(.list(.guided(items, element), unique: unique), whole).fields
        case .guided(let schema, let guide):
            // A rule replaces what the type says itself, such as the range of a small integer.
            let kept = schema.fields.filter { field in !guide.words.contains { field.hasPrefix("\(quoted($0.name)):") } }
            let description = guide.description.map { ["\"description\":\(quoted($0))"] } ?? []
            return kept + guide.words.map { "\(quoted($0.name)):\($0.json)" } + description
        }
    }
}

/// A JSON string.
func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": quoted += "\\\""
        case "\\": quoted += "\\\\"
        case "\n": quoted += "\\n"
        case "\r": quoted += "\\r"
        case "\t": quoted += "\\t"
        case "\u{0}"..<"\u{20}": quoted += "\\u" + String(format: "%04x", scalar.value)
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}
