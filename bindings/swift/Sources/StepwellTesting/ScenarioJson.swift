import Foundation
import StepwellBindings

// JSON as Foundation reads it.

typealias Fields = [String: Any]

extension Dictionary where Key == String, Value == Any {
    func text(_ name: String) -> String? { self[name] as? String }
    func number(_ name: String) -> UInt64? { (self[name] as? NSNumber)?.uint64Value }
    func small(_ name: String) -> UInt32? { (self[name] as? NSNumber)?.uint32Value }
    func double(_ name: String) -> Double? { (self[name] as? NSNumber)?.doubleValue }
    func flag(_ name: String, default standard: Bool = false) -> Bool { self[name] as? Bool ?? standard }
    func list(_ name: String) -> [Any] { self[name] as? [Any] ?? [] }
    func part(_ name: String) -> Fields { self[name] as? Fields ?? [:] }

    func needed(_ name: String) throws -> String {
        guard let text = text(name) else { throw InvalidScenario("there is no text `\(name)` in \(self)") }
        return text
    }

    func neededJson(_ name: String) throws -> JsonValue {
        guard let value = try json(name) else { throw InvalidScenario("there is no `\(name)` in \(self)") }
        return value
    }

    /// `null` means none, absence the default.
    func optional(_ name: String, _ standard: UInt64?) -> UInt64? {
        self[name] == nil ? standard : number(name)
    }

    /// A time in milliseconds; `null` means none, absence the default.
    func time(_ name: String, _ standard: Duration?) -> Duration? {
        self[name] == nil ? standard : number(name).map { .milliseconds(Int64($0)) }
    }

    /// Any JSON.
    func json(_ name: String) throws -> JsonValue? {
        try self[name].map { try JsonValue(parsing: StepwellTesting.json($0)) }
    }
}

func parsed(_ text: String) throws -> Any {
    try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
}

/// A line of a stream: text is kept unchanged.
func compact(_ value: Any) throws -> String {
    try value as? String ?? json(value)
}

/// Foundation keeps no order of keys: this order may be that of a file, too, where unchanged text matters.
func json(_ value: Any) throws -> String {
    let options: JSONSerialization.WritingOptions = [.fragmentsAllowed, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try JSONSerialization.data(withJSONObject: value, options: options), as: UTF8.self)
}

/// Whether two values are the same JSON. Their texts are compared: on Linux `NSDictionary` considers some equal
/// booleans different.
func isSame(_ one: Any, _ other: Any) throws -> Bool {
    try json(one) == json(other)
}

/// A duration in milliseconds.
func milliseconds(_ time: Duration) -> Int64 {
    time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000
}

/// A point in time in milliseconds since the epoch.
func milliseconds(_ time: Date) -> Int64 {
    Int64((time.timeIntervalSince1970 * 1000).rounded())
}
