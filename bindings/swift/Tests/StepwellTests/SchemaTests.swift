import Foundation
import Testing

@testable import Stepwell
@testable import StepwellBindings

private enum Colour: String, Decodable, CaseIterable {
    case red, green
}

private enum Size: Int, Codable, CaseIterable {
    case small = 1
    case large = 10
}

private struct Point: Decodable {
    let x: Double
    let y: Double?
}

private struct Everything: Decodable {
    @Guide("Who \"it\" is.") var name: String
    let count: Int
    let exact: Bool
    let tags: [String]
    let seen: Set<String>?
    let colour: Colour
    let size: Size?
    let at: Point
    @Guide("Where it went.") var path: [Point]?
    let weights: [String: Double]
    let since: Date
    let link: URL?
    let id: UUID

    enum CodingKeys: String, CodingKey {
        case name, count, exact, tags, seen, colour, size, at, path, weights, since, link
        case id = "the_id"
    }
}

private struct Nothing: Decodable {}

private final class Node: Decodable {
    let next: Node?
}

private struct Checked: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
        guard !text.isEmpty else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "it is empty"))
        }
    }
}

private struct Wrapped: Decodable {
    let checked: Checked
}

private func parsed(_ text: String) throws -> Any {
    try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
}

private func same(_ one: String, _ other: String) throws -> Bool {
    NSDictionary(dictionary: ["": try parsed(one)]).isEqual(to: ["": try parsed(other)])
}

@Test("a schema is read off a type")
func aSchemaIsReadOffAType() throws {
    let point = #"{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x"]}"#
    let expected = #"""
        {"type":"object","properties":{
          "name":{"type":"string","description":"Who \"it\" is."},
          "count":{"type":"integer"},
          "exact":{"type":"boolean"},
          "tags":{"type":"array","items":{"type":"string"}},
          "seen":{"type":"array","items":{"type":"string"},"uniqueItems":true},
          "colour":{"type":"string","enum":["red","green"]},
          "size":{"type":"integer","enum":[1,10]},
          "at":\#(point),
          "path":{"type":"array","items":\#(point),"description":"Where it went."},
          "weights":{"type":"object","additionalProperties":{"type":"number"}},
          "since":{"type":"string","format":"date-time"},
          "link":{"type":"string","format":"uri"},
          "the_id":{"type":"string","format":"uuid"}
        },"required":["name","count","exact","tags","colour","at","weights","since","the_id"]}
        """#
    let schema = try jsonSchema(of: Everything.self)
    #expect(try same(schema.text, expected), "\(schema)")
    #expect(schema.text.hasPrefix(#"{"type":"object","properties":{"name":"#))
    #expect(try same(jsonSchema(of: Nothing.self).text, #"{"type":"object","properties":{},"required":[]}"#))
}

@Test("what fits the schema is decoded")
func whatFitsIsDecoded() throws {
    let everything = try decodeArguments(
        Everything.self,
        from: JsonValue(
            parsing: #"""
            {"name":"it","count":2,"exact":true,"tags":[],"colour":"green","at":{"x":1},"weights":{"a":0.5},
             "since":"2026-01-02T03:04:05Z","the_id":"7A1B4A2C-9B0D-4E51-8E4C-0E6C3C6B6B11"}
            """#))
    #expect(everything.colour == .green)
    #expect(everything.at.y == nil)
    #expect(everything.weights == ["a": 0.5])
    #expect(everything.since == Date(timeIntervalSince1970: 1_767_323_045))
}

@Test("a type that does not tell what it takes is an error that says what to do")
func whatCannotBeRead() throws {
    func error(of schema: () throws -> JsonValue) -> String {
        do { return try schema().text } catch { return "\(error)" }
    }
    #expect(error { try jsonSchema(of: Node.self) }.contains("parameters"))
    #expect(error { try jsonSchema(of: Wrapped.self) }.contains("parameters"))
    // With a schema of its own there is nothing to read.
    _ = try AgentTool("chase", "Chases.", parameters: [:]) { (_: Node) in "" }
}

private struct Picture: Decodable {
    let bytes: Data
    let age: UInt8
    let depth: Int16?
    let size: UInt64
    let count: Int
    let names: [Int: String]
    let weights: [Place: Double]?

    enum Place: String, Decodable, CaseIterable, CodingKeyRepresentable { case home, work }
}

@Test("bytes, small integers and dictionaries have schemas that their decoder keeps")
func bytesAndKeys() throws {
    let expected = #"""
        {"type":"object","properties":{
          "bytes":{"type":"string","contentEncoding":"base64"},
          "age":{"type":"integer","minimum":0,"maximum":255},
          "depth":{"type":"integer","minimum":-32768,"maximum":32767},
          "size":{"type":"integer","minimum":0},
          "count":{"type":"integer"},
          "names":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^-?[0-9]+$"}},
          "weights":{"type":"object","additionalProperties":{"type":"number"},"propertyNames":{"enum":["home","work"]}}
        },"required":["bytes","age","size","count","names"]}
        """#
    let schema = try jsonSchema(of: Picture.self)
    #expect(try same(schema.text, expected), "\(schema)")
    let picture = try decodeArguments(
        Picture.self,
        from: JsonValue(
            parsing: #"{"bytes":"SGk=","age":255,"size":1,"count":-1,"names":{"-3":"x"},"weights":{"home":0.5}}"#))
    #expect(picture.bytes == Data("Hi".utf8))
    #expect(picture.names == [-3: "x"])
    #expect(picture.weights == [.home: 0.5])
}

@Test("a dictionary whose keys cannot be known is an error")
func slipsAreTold() async {
    struct ById: Decodable { let names: [UUID: String] }
    let keys = await thrown(SchemaError.self) { try jsonSchema(of: ById.self) }
    #expect(keys?.description.contains("names") == true)
}

private struct Order: Decodable {
    @Guide("How many.", .range(1...5)) var count: UInt8
    @Guide("Which.", .pattern("^[a-z]+$"), .length(1...9)) var item: String
    @Guide("Words.", .count(1...3), .each(.anyOf(["new", "used"]))) var marks: [String]
    @Guide("At most.", .ifPresent(.maximum(9.5))) var price: Double?
    let shape: Shape
    @Guide("The other side.") var back: Shape?

    // In another order than the properties, and with other names.
    enum CodingKeys: String, CodingKey {
        case shape
        case item = "the_item"
        case marks, price, count, back
    }
}

private enum Shape: Codable, Equatable {
    case circle(radius: Double)
    case box(width: Double, height: Double?)
    case text(String)
    case none

    enum CodingKeys: CodingKey, CaseIterable { case circle, box, text, none }
}

@Test("guides and the cases of an enum are in the schema")
func guidesAndCases() throws {
    func only(_ name: String, _ values: String) -> String {
        #"{"type":"object","properties":{"\#(name)":\#(values)},"required":["\#(name)"],"additionalProperties":false}"#
    }
    let radius = #"{"type":"object","properties":{"radius":{"type":"number"}},"required":["radius"]}"#
    let sides = #"{"width":{"type":"number"},"height":{"type":"number"}}"#
    let box = #"{"type":"object","properties":\#(sides),"required":["width"]}"#
    let text = #"{"type":"object","properties":{"_0":{"type":"string"}},"required":["_0"]}"#
    let nothing = #"{"type":"object","properties":{},"required":[]}"#
    let cases = [only("circle", radius), only("box", box), only("text", text), only("none", nothing)]
    let shape = #""type":"object","anyOf":[\#(cases.joined(separator: ","))]"#
    let expected = #"""
        {"type":"object","properties":{
          "shape":{\#(shape)},
          "the_item":{"type":"string","pattern":"^[a-z]+$","minLength":1,"maxLength":9,"description":"Which."},
          "marks":{"type":"array","items":{"type":"string","enum":["new","used"]},"minItems":1,"maxItems":3,"description":"Words."},
          "price":{"type":"number","maximum":9.5,"description":"At most."},
          "count":{"type":"integer","minimum":1,"maximum":5,"description":"How many."},
          "back":{\#(shape),"description":"The other side."}
        },"required":["shape","the_item","marks","count"]}
        """#
    let schema = try jsonSchema(of: Order.self)
    #expect(try same(schema.text, expected), "\(schema)")
    let order = try decodeArguments(
        Order.self,
        from: JsonValue(parsing: #"{"shape":{"box":{"width":2}},"the_item":"cup","marks":["new"],"count":2,"back":{"none":{}}}"#))
    #expect(order.shape == .box(width: 2, height: nil) && order.back == Shape.none)
    #expect(order.item == "cup" && order.count == 2 && order.price == nil)
}

@Test("an enum that does not tell its cases is an error that says what to do")
func unknownCases() async {
    enum Vague: Decodable { case one(Int), two }
    let error = await thrown(SchemaError.self) { try jsonSchema(of: Vague.self) }
    #expect(error?.description.contains("CaseIterable") == true)
}

@Test("what does not fit a type is told in a sentence")
func whatDoesNotFit() async throws {
    struct Age: Decodable { let age: UInt8 }
    let error = await thrown(DecodingError.self) { try decodeArguments(Age.self, from: ["age": 300]) }
    let reason = sentence(of: try #require(error))
    #expect(reason.lowercased().contains("number"), "\(reason)")
}

@Test("a number that JSON has no word for is null")
func noNumber() {
    #expect(JsonValue(floatLiteral: .infinity).text == "null")
    #expect(JsonValue(floatLiteral: .nan).text == "null")
}

@Test("JSON is written as a literal, and read as a type")
func jsonValues() throws {
    let literal: JsonValue = ["name": "\"Ä\"\n", "list": [1, 2.5, true, nil], "none": [:]]
    #expect(literal.text == #"{"name":"\"Ä\"\u000a","list":[1,2.5,true,null],"none":{}}"#)
    struct Value: Codable, Equatable {
        let name: String
        let list: [Double?]?
    }
    let read: JsonValue = ["name": "it", "list": [1, nil]]
    #expect(try read.decode() == Value(name: "it", list: [1, nil]))
    #expect(try JsonValue(encoding: Value(name: "it", list: nil)).text == #"{"name":"it"}"#)
    #expect(try JsonValue(parsing: " 12345678901234567890 ").text == " 12345678901234567890 ")
    #expect(throws: DecodingError.self) { try JsonValue(parsing: "{") }
    #expect(throws: DecodingError.self) { try JsonValue(parsing: "Words.") }
}

@Test("times cross in whole milliseconds")
func times() {
    #expect(wholeMilliseconds(.seconds(2)) == 2000)
    #expect(wholeMilliseconds(.nanoseconds(1_999_999)) == 1)
    #expect(wholeMilliseconds(.seconds(-1)) == 0)
    #expect(wholeMilliseconds(Date(timeIntervalSince1970: 1.0015)) == 1002)
    #expect(wholeMilliseconds(Date.distantPast) == 0)
}
