import Foundation
import Stepwell

#if canImport(FoundationModels)
    import FoundationModels
#else
    import FoundationModelsStandIn
#endif

/// A request of an agent, as Chat Completions has it.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
struct OnDeviceRequest: Decodable {
    struct Tool: Decodable {
        struct Function: Decodable {
            let name: String
            let description: String?
            let parameters: SchemaNode?
        }
        let function: Function
    }

    struct Schema: Decodable {
        let name: String
        let schema: SchemaNode
    }

    private struct Message: Decodable {
        struct Call: Decodable {
            struct Function: Decodable {
                let name: String
                let arguments: String
            }
            let id: String
            let function: Function
        }
        let role: String
        let content: Content?
        let tool_calls: [Call]?
        let tool_call_id: String?
    }

    /// A text, or parts of which each is a text.
    private struct Content: Decodable {
        struct Part: Decodable {
            let text: String?
        }
        let text: String

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let text = try? value.decode(String.self) {
                self.text = text
                return
            }
            text = try value.decode([Part].self).map { part in
                guard let text = part.text else { throw OnDeviceProblem.unsupported("media: send text alone") }
                return text
            }.joined(separator: "\n")
        }
    }

    private struct Format: Decodable {
        let json_schema: Schema?
    }

    let tools: [Tool]
    /// The schema of a typed answer.
    let schema: Schema?
    let options: GenerationOptions
    private let messages: [Message]

    private enum Keys: String, CodingKey {
        case messages, tools, tool_choice, response_format, temperature, max_tokens
    }

    init(_ body: Data) throws {
        self = try JSONDecoder().decode(Self.self, from: body)
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        messages = try fields.decode([Message].self, forKey: .messages)
        tools = try fields.decodeIfPresent([Tool].self, forKey: .tools) ?? []
        schema = try fields.decodeIfPresent(Format.self, forKey: .response_format)?.json_schema
        let choice = try? fields.decodeIfPresent(String.self, forKey: .tool_choice)
        let mode: GenerationOptions.ToolCallingMode? =
            switch choice {
            case "none": .disallowed
            case "required": .required
            default: nil
            }
        options = GenerationOptions(
            samplingMode: nil, temperature: try fields.decodeIfPresent(Double.self, forKey: .temperature),
            maximumResponseTokens: try fields.decodeIfPresent(Int.self, forKey: .max_tokens), toolCallingMode: mode)
    }

    /// The last message if it is the user's. After the results of tools there is nothing to add to the transcript.
    var prompt: String {
        if let last = messages.last, last.role == "user" { last.content?.text ?? "" } else { "" }
    }

    /// The messages before the prompt.
    func transcript(_ tools: [RecordedTool]) throws -> FrameworkTranscript {
        var instructions: [String] = []
        var entries: [FrameworkTranscript.Entry] = []
        var names: [String: String] = [:]
        for message in messages.last?.role == "user" ? messages.dropLast() : messages[...] {
            let text = message.content?.text ?? ""
            let segments = text.isEmpty ? [] : [FrameworkTranscript.Segment.text(.init(content: text))]
            switch message.role {
            case "system", "developer": instructions.append(text)
            case "user": entries.append(.prompt(.init(segments: segments)))
            case "tool":
                let id = message.tool_call_id ?? ""
                entries.append(.toolOutput(.init(id: id, toolName: names[id] ?? "", segments: segments)))
            default:
                if !segments.isEmpty { entries.append(.response(.init(assetIDs: [], segments: segments))) }
                let calls = try (message.tool_calls ?? []).map { call in
                    names[call.id] = call.function.name
                    return FrameworkTranscript.ToolCall(
                        id: call.id, toolName: call.function.name,
                        arguments: try GeneratedContent(json: call.function.arguments))
                }
                if !calls.isEmpty { entries.append(.toolCalls(.init(calls))) }
            }
        }
        if !instructions.isEmpty || !tools.isEmpty {
            let text = FrameworkTranscript.TextSegment(content: instructions.joined(separator: "\n\n"))
            let definitions = tools.map {
                FrameworkTranscript.ToolDefinition(name: $0.name, description: $0.description, parameters: $0.parameters)
            }
            entries.insert(.instructions(.init(segments: [.text(text)], toolDefinitions: definitions)), at: 0)
        }
        return FrameworkTranscript(entries: entries)
    }
}
