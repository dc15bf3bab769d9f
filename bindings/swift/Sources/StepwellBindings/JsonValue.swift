import Foundation

/// Any JSON, as its text: an agent's shared state, a tool's arguments, a schema.
///
///     let arguments: Transfer = try invocation.arguments.decode()
///     let schema: JsonValue = ["type": "object", "properties": ["name": ["type": "string"]]]
///
/// A string literal is a JSON string; text that holds JSON is read with `init(parsing:)`. Values are equal if their
/// texts are: `{"a":1}` and `{ "a": 1 }` differ. The order of an object's keys, and numbers of any size, are kept.
public struct JsonValue: Hashable, Sendable {
    /// The JSON text.
    public let text: String

    /// Wraps text that is known to be JSON.
    package init(text: String) {
        self.text = text
    }

    /// JSON text.
    ///
    /// - Throws: `DecodingError` if it is not JSON.
    public init(parsing text: String) throws {
        _ = try JSONDecoder().decode(Anything.self, from: Data(text.utf8))
        self.text = text
    }

    /// The JSON of a value.
    ///
    /// - Throws: `EncodingError` if the value cannot be JSON.
    public init(encoding value: some Encodable, with encoder: JSONEncoder = JSONEncoder()) throws {
        text = String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// The value as a type of the app.
    ///
    /// - Throws: `DecodingError` if it does not fit.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(text.utf8))
    }
}

extension JsonValue: CustomStringConvertible {
    public var description: String { text }
}

extension JsonValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) {
        self.init(text: "null")
    }

    public init(booleanLiteral value: Bool) {
        self.init(text: value ? "true" : "false")
    }

    public init(integerLiteral value: Int) {
        self.init(text: String(value))
    }

    /// A number; infinity and NaN become `null`, as in JavaScript: JSON cannot express them.
    public init(floatLiteral value: Double) {
        self.init(text: value.isFinite ? String(value) : "null")
    }

    public init(stringLiteral value: String) {
        self.init(text: quoted(value))
    }

    public init(arrayLiteral elements: JsonValue...) {
        self.init(text: "[\(elements.map(\.text).joined(separator: ","))]")
    }

    public init(dictionaryLiteral elements: (String, JsonValue)...) {
        let pairs = elements.map { "\(quoted($0)):\($1.text)" }
        self.init(text: "{\(pairs.joined(separator: ","))}")
    }
}

/// A string as JSON has it.
private func quoted(_ string: String) -> String {
    var text = "\""
    for scalar in string.unicodeScalars {
        switch scalar {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        case "\u{0}"..<"\u{20}":
            let code = String(scalar.value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - code.count) + code
        default: text.unicodeScalars.append(scalar)
        }
    }
    return text + "\""
}

/// Reads any JSON, and keeps nothing of it.
private struct Anything: Decodable {
    init(from decoder: any Decoder) throws {}
}
