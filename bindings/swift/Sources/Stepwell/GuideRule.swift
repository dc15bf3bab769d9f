import Foundation

/// What a guided property may be. Its type says which rules there are.
public struct GuideRule<Value>: Sendable {
    let words: [SchemaWord]
    /// What applies to the elements of a list.
    var element: [SchemaWord] = []
}

/// A word of JSON Schema, such as `minimum`, with its value in JSON.
struct SchemaWord: Sendable {
    let name: String
    let json: String

    init(_ name: String, _ json: String) {
        self.name = name
        self.json = json
    }
}

/// A number that rules may bound.
public protocol GuidedNumber: Comparable, Sendable {}

extension Int: GuidedNumber {}
extension Int8: GuidedNumber {}
extension Int16: GuidedNumber {}
extension Int32: GuidedNumber {}
extension Int64: GuidedNumber {}
extension UInt: GuidedNumber {}
extension UInt8: GuidedNumber {}
extension UInt16: GuidedNumber {}
extension UInt32: GuidedNumber {}
extension UInt64: GuidedNumber {}
extension Float: GuidedNumber {}
extension Double: GuidedNumber {}
extension Decimal: GuidedNumber {}

extension GuideRule where Value: GuidedNumber {
    /// At least this.
    public static func minimum(_ least: Value) -> Self { Self(words: [SchemaWord("minimum", "\(least)")]) }
    /// At most this.
    public static func maximum(_ most: Value) -> Self { Self(words: [SchemaWord("maximum", "\(most)")]) }
    /// Within this range.
    public static func range(_ range: ClosedRange<Value>) -> Self {
        Self(words: [SchemaWord("minimum", "\(range.lowerBound)"), SchemaWord("maximum", "\(range.upperBound)")])
    }
}

extension GuideRule where Value == String {
    /// A text in which this regular expression (ECMA-262) matches.
    public static func pattern(_ expression: String) -> Self { Self(words: [SchemaWord("pattern", quoted(expression))]) }
    /// One of these texts.
    public static func anyOf(_ texts: [String]) -> Self {
        Self(words: [SchemaWord("enum", "[\(texts.map(quoted).joined(separator: ","))]")])
    }
    /// A text of so many characters.
    public static func length(_ range: ClosedRange<Int>) -> Self {
        Self(words: [SchemaWord("minLength", "\(range.lowerBound)"), SchemaWord("maxLength", "\(range.upperBound)")])
    }
}

extension GuideRule {
    /// So many elements.
    public static func count<Element>(_ range: ClosedRange<Int>) -> Self where Value == [Element] {
        Self(words: [SchemaWord("minItems", "\(range.lowerBound)"), SchemaWord("maxItems", "\(range.upperBound)")])
    }
    /// Exactly so many elements.
    public static func count<Element>(_ number: Int) -> Self where Value == [Element] { count(number...number) }
    /// Elements to each of which this applies.
    public static func each<Element>(_ rule: GuideRule<Element>) -> Self where Value == [Element] {
        Self(words: [], element: rule.words)
    }
}

extension GuideRule {
    /// A value of a property that may be left out.
    public static func ifPresent<Wrapped>(_ rules: GuideRule<Wrapped>...) -> Self where Value == Wrapped? {
        Self(words: rules.flatMap(\.words), element: rules.flatMap(\.element))
    }
}
