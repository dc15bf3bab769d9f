import StepwellBindings

/// What a turn's answer is: text, or a value of the app's type.
struct Answer<Output: Sendable>: Sendable {
    /// Returns the agent of the same conversation that asks for this answer.
    let of: @Sendable (FfiAgent) throws -> FfiAgent
    /// Reads the answer of a turn that succeeded, whose last message has this text.
    let read: @Sendable (_ finished: Finished, _ text: String) throws -> Output
}

extension Answer<String> {
    /// The text.
    static let text = Answer(of: { $0 }, read: { _, text in text })
}

extension Answer where Output: DecodableAnywhere {
    /// A value.
    static func decoded(_ type: Output.Type) -> Answer {
        Answer(
            of: { try $0.withOutput(output: outputType(of: Output.self), decoder: Decoding<Output>()) },
            read: { finished, _ in try decodeArguments(Output.self, from: finished.output ?? JsonValue(text: "null")) })
    }
}

/// The type of an answer, derived from a type of the app, for `RunConfig.output`: with other retries, say. Throws
/// `SchemaError` if the type has no schema.
public func outputType<Answer: Decodable>(of type: Answer.Type) throws -> OutputType {
    let name = String(describing: type).map { letter in
        letter.isASCII && (letter.isLetter || letter.isNumber) ? letter : "_"
    }
    return OutputType(name: String(name.prefix(64)), schema: try jsonSchema(of: type))
}

/// Decodes the typed answers, before they are accepted.
private final class Decoding<Output: DecodableAnywhere>: OutputDecoder {
    func decode(value: JsonValue) async throws -> String? {
        do {
            _ = try decodeArguments(Output.self, from: value)
            return nil
        } catch {
            return sentence(of: error)
        }
    }
}
