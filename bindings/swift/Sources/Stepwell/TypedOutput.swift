import Foundation

extension Agent {
    /// Sends a message to the model, and returns its answer as a value of the app's type.
    ///
    ///     struct Trip: ToolArguments {
    ///         let city: String
    ///         let days: Int
    ///         static let descriptions = ["days": "At least one."]
    ///     }
    ///
    ///     let trip = try await agent.run("Three days in Norway's rainiest city", Trip.self)
    ///
    /// Any `Decodable` type will do from which a JSON Schema can be derived; see `ToolArguments`. An answer that does
    /// not fit the type goes back to the model with the path and the reason, twice; then the turn fails. Cancelling the
    /// task cancels the turn. `parts` follow the text, as for `send`.
    ///
    /// - Throws: `SchemaError` where the type has no schema: nothing was sent. `TurnError` where the answer is not whole, or
    ///   does not fit: `.OutputInvalid`, with its text. `CancellationError` where the
    ///   task was cancelled.
    public func run<Answer: DecodableAnywhere>(
        _ text: String, _ type: Answer.Type = Answer.self, parts: [ContentPart] = []
    ) async throws -> Answer {
        let agent = try withOutput(output: outputType(of: type), decoder: Decoding<Answer>())
        let finished = try await agent.whole(agent.startTurn(text: text, parts: parts))
        return try decodeArguments(type, from: finished.output ?? JsonValue(text: "null"))
    }
}

/// The type of an answer, derived from a type of the app, for `RunConfig.output` and `Agent.withOutput`: with other
/// retries, say, or for a turn whose events are wanted. Throws `SchemaError` if the type has no schema.
public func outputType<Answer: Decodable>(of type: Answer.Type) throws -> OutputType {
    let name = String(describing: type).map { letter in
        letter.isASCII && (letter.isLetter || letter.isNumber) ? letter : "_"
    }
    return OutputType(name: String(name.prefix(64)), schema: try jsonSchema(of: type))
}

/// Decodes the typed answers, before they are accepted.
private final class Decoding<Answer: DecodableAnywhere>: OutputDecoder {
    func decode(value: JsonValue) async throws -> String? {
        do {
            _ = try decodeArguments(Answer.self, from: value)
            return nil
        } catch {
            return sentence(of: error)
        }
    }
}
