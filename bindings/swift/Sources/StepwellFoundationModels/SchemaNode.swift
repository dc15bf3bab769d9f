#if canImport(FoundationModels)
    import FoundationModels
#else
    import FoundationModelsStandIn
#endif

/// The part of a JSON Schema that the framework can express: types, properties, elements and choices. Bounds and patterns are left out; Stepwell checks
/// the arguments and the answer by the complete schema.
final class SchemaNode: Decodable, Sendable {
    let type: String?
    let description: String?
    let properties: [String: SchemaNode]
    let required: [String]
    let items: SchemaNode?
    let choices: [String]?
    let variants: [SchemaNode]
    let reference: String?
    /// Whether null is a value, too: the framework leaves such a property out.
    let isNullable: Bool

    private enum Keys: String, CodingKey {
        case type, description, properties, required, items, choices = "enum", anyOf, oneOf, reference = "$ref"
    }

    init(type: String) {
        self.type = type
        (description, properties, required, items, choices, variants) = (nil, [:], [], nil, nil, [])
        (reference, isNullable) = (nil, false)
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        let types = try? fields.decodeIfPresent([String].self, forKey: .type)
        type = try types?.first { $0 != "null" } ?? fields.decodeIfPresent(String.self, forKey: .type)
        description = try fields.decodeIfPresent(String.self, forKey: .description)
        properties = try fields.decodeIfPresent([String: SchemaNode].self, forKey: .properties) ?? [:]
        required = try fields.decodeIfPresent([String].self, forKey: .required) ?? []
        items = try fields.decodeIfPresent(SchemaNode.self, forKey: .items)
        // Other choices than texts are of their type alone.
        choices = try? fields.decodeIfPresent([String].self, forKey: .choices)
        let anyOf = try fields.decodeIfPresent([SchemaNode].self, forKey: .anyOf)
        let all = try anyOf ?? fields.decodeIfPresent([SchemaNode].self, forKey: .oneOf) ?? []
        variants = all.filter { $0.type != "null" }
        isNullable = types?.contains("null") == true || variants.count < all.count
        reference = try fields.decodeIfPresent(String.self, forKey: .reference)
    }
}

/// The framework's schema of this name.
///
/// - Throws: `OnDeviceProblem` for a schema that the framework cannot express.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
func generationSchema(_ node: SchemaNode, name: String) throws -> GenerationSchema {
    try GenerationSchema(root: dynamicSchema(node, name: name), dependencies: [])
}

@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
private func dynamicSchema(_ node: SchemaNode, name: String) throws -> DynamicGenerationSchema {
    if node.reference != nil { throw OnDeviceProblem.unsupported("schemas with references, as that of `\(name)`") }
    if node.variants.count == 1 { return try dynamicSchema(node.variants[0], name: name) }
    if !node.variants.isEmpty {
        let variants = try node.variants.enumerated().map { try dynamicSchema($1, name: "\(name)_\($0)") }
        return DynamicGenerationSchema(name: name, description: node.description, anyOf: variants)
    }
    switch node.type {
    case "object":
        // JSON's properties have no order here: the required ones come first, in the schema's order.
        let names = node.required + node.properties.keys.filter { !node.required.contains($0) }.sorted()
        let properties = try names.compactMap { key in
            try node.properties[key].map { property in
                DynamicGenerationSchema.Property(
                    name: key, description: property.description,
                    schema: try dynamicSchema(property, name: "\(name)_\(key)"),
                    isOptional: property.isNullable || !node.required.contains(key))
            }
        }
        return DynamicGenerationSchema(name: name, description: node.description, properties: properties)
    case "array":
        let element = try dynamicSchema(node.items ?? SchemaNode(type: "string"), name: "\(name)_item")
        return DynamicGenerationSchema(arrayOf: element)
    case "integer": return DynamicGenerationSchema(type: Int.self)
    case "number": return DynamicGenerationSchema(type: Double.self)
    case "boolean": return DynamicGenerationSchema(type: Bool.self)
    case "string":
        if let choices = node.choices, !choices.isEmpty {
            return DynamicGenerationSchema(name: name, description: node.description, anyOf: choices)
        }
        return DynamicGenerationSchema(type: String.self)
    default: throw OnDeviceProblem.unsupported("a schema without a type, as that of `\(name)`")
    }
}
