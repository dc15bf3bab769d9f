import Foundation

/// See Apple's `GeneratedContent`: here its JSON alone.
public struct GeneratedContent: Sendable {
    public let jsonString: String

    public init(json: String) throws {
        _ = try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
        jsonString = json
    }
}

/// See Apple's `GenerationSchema`: here the JSON Schema that it is written as.
public struct GenerationSchema: Sendable, Codable {
    private let node: DynamicGenerationSchema.Node

    public init(root: DynamicGenerationSchema, dependencies: [DynamicGenerationSchema]) throws { node = root.node }
    public init(from decoder: any Decoder) throws { node = try DynamicGenerationSchema.Node(from: decoder) }
    public func encode(to encoder: any Encoder) throws { try node.encode(to: encoder) }
}

/// See Apple's `DynamicGenerationSchema`.
public struct DynamicGenerationSchema: Sendable {
    final class Node: Sendable, Codable {
        let type, title, description: String?
        let properties: [String: Node]?
        let required, `enum`, order: [String]?
        let items: Node?
        let anyOf: [Node]?

        enum CodingKeys: String, CodingKey {
            case type, title, description, properties, required, `enum`, items, anyOf, order = "x-order"
        }

        init(
            type: String?, title: String? = nil, description: String? = nil, properties: [String: Node]? = nil,
            required: [String]? = nil, choices: [String]? = nil, order: [String]? = nil, items: Node? = nil, anyOf: [Node]? = nil
        ) {
            (self.type, self.title, self.description, self.properties) = (type, title, description, properties)
            (self.required, self.enum, self.order, self.items, self.anyOf) = (required, choices, order, items, anyOf)
        }
    }

    public struct Property: Sendable {
        let name: String
        let schema: DynamicGenerationSchema
        let isOptional: Bool

        public init(name: String, description: String? = nil, schema: DynamicGenerationSchema, isOptional: Bool = false) {
            (self.name, self.schema, self.isOptional) = (name, schema, isOptional)
        }
    }

    let node: Node

    public init(name: String, description: String? = nil, properties: [Property]) {
        node = Node(
            type: "object", title: name, description: description,
            properties: Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0.schema.node) }),
            required: properties.filter { !$0.isOptional }.map(\.name), order: properties.map(\.name))
    }

    public init(name: String, description: String? = nil, anyOf choices: [String]) {
        node = Node(type: "string", title: name, description: description, choices: choices)
    }

    public init(name: String, description: String? = nil, anyOf choices: [DynamicGenerationSchema]) {
        node = Node(type: nil, title: name, description: description, anyOf: choices.map(\.node))
    }

    public init(arrayOf element: DynamicGenerationSchema) { node = Node(type: "array", items: element.node) }

    public init<Value: Generable>(type: Value.Type) { node = Node(type: Value.schemaType) }
}

/// See Apple's `Generable`, of which only the simple types are needed.
public protocol Generable { static var schemaType: String { get } }

extension String: Generable { public static var schemaType: String { "string" } }
extension Int: Generable { public static var schemaType: String { "integer" } }
extension Double: Generable { public static var schemaType: String { "number" } }
extension Bool: Generable { public static var schemaType: String { "boolean" } }
