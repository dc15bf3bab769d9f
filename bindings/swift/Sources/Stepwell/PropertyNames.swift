import Foundation
import StepwellBindings

/// The names in JSON of a type's properties, found out by trying: a property is the one that changes with its value in JSON.
final class PropertyNames<Output: Decodable>: @unchecked Sendable {
    /// Guards all below.
    private let lock = NSLock()
    private var names: [AnyKeyPath: String?] = [:]
    private lazy var properties: [(name: String, schema: Schema)] = {
        guard case .object(let properties)? = try? Schema.of(Output.self, at: Place()).schema else { return [] }
        return properties.map { ($0.name, $0.schema) }
    }()
    private lazy var plain: Output? = example(with: nil)

    /// The name of this property; nil if it is none, or several.
    func name(of path: AnyKeyPath) -> String? {
        lock.withLock {
            if let known = names[path] { return known }
            let found = properties.map(\.name).filter { name in
                guard let plain, let other = example(with: name) else { return false }
                return !isSame(plain[keyPath: path], other[keyPath: path])
            }
            let name = found.count == 1 ? found[0] : nil
            names[path] = name
            return name
        }
    }

    /// A value in which this property is another one.
    private func example(with other: String?) -> Output? {
        let fields = properties.map { "\(quoted($0.name)):\($0.schema.example($0.name == other ? 1 : 0))" }
        return try? decodeArguments(Output.self, from: JsonValue(text: "{\(fields.joined(separator: ","))}"))
    }
}

private func isSame(_ one: Any?, _ other: Any?) -> Bool {
    func isEqual<Value: Equatable>(_ value: Value) -> Bool { value == other as? Value }
    if let one = one as? any Equatable { return isEqual(one) }
    return String(reflecting: one) == String(reflecting: other)
}

extension Schema {
    /// The first or the second of two different values, in JSON.
    fileprivate func example(_ number: Int) -> String {
        switch self {
        case .plain(let type, let words):
            switch type {
            case "string": return text(words.joined(), number)
            case "boolean": return number == 0 ? "false" : "true"
            default: return String(number)
            }
        case .choice(_, let json): return json.isEmpty ? "null" : json[min(number, json.count - 1)]
        case .list(let items, _): return number == 0 ? "[]" : "[\(items.example(0))]"
        case .map(let values, let keys):
            let key =
                switch keys {
                case .cases(let names): names.first ?? ""
                case .text, .integers: "0"
                }
            return number == 0 ? "{}" : "{\(quoted(key)):\(values.example(0))}"
        case .object(let properties):
            let fields = properties.map { "\(quoted($0.name)):\($0.schema.example(number))" }
            return "{\(fields.joined(separator: ","))}"
        case .cases(let cases):
            guard !cases.isEmpty else { return "{}" }
            let (name, schema) = cases[min(number, cases.count - 1)]
            return "{\(quoted(name)):\(schema.example(number))}"
        case .guided(let schema, let guide):
            guard let choice = guide.words.first(where: { $0.name == "enum" }),
                let texts = try? JSONDecoder().decode([String].self, from: Data(choice.json.utf8)), !texts.isEmpty
            else { return schema.example(number) }
            return quoted(texts[min(number, texts.count - 1)])
        }
    }

    private func text(_ words: String, _ number: Int) -> String {
        if words.contains("date-time") { return "\"200\(number)-01-01T00:00:00Z\"" }
        if words.contains("uuid") { return "\"00000000-0000-0000-0000-00000000000\(number)\"" }
        if words.contains("base64") { return number == 0 ? "\"\"" : "\"AA==\"" }
        return "\"\(words.contains("uri") ? "a:" : "")\(number)\""
    }
}
