import Foundation
import StepwellBindings

/// A conversation: its messages, oldest first. It reads and writes JSON.
public struct Transcript: Sendable, Hashable {
    private let messages: [Message]

    /// A conversation of these messages.
    public init(_ messages: [Message] = []) {
        self.messages = messages
    }

    /// Messages in AG-UI's form, as Stepwell writes them.
    init(json: JsonValue) {
        messages = json.elements.map(Message.init(json:))
    }

    /// The messages in AG-UI's form, for the app to store.
    public var json: JsonValue {
        JsonValue(text: "[\(messages.map(\.json.text).joined(separator: ","))]")
    }

    /// Reads the JSON text of a conversation.
    ///
    /// - Throws: `DecodingError` if it is no list of messages.
    public init(parsing text: String) throws {
        _ = try JSONDecoder().decode([Fields].self, from: Data(text.utf8))
        self.init(json: JsonValue(text: text))
    }
}

extension Transcript: RandomAccessCollection, ExpressibleByArrayLiteral {
    public var startIndex: Int { messages.startIndex }
    public var endIndex: Int { messages.endIndex }
    public subscript(position: Int) -> Message { messages[position] }

    public init(arrayLiteral messages: Message...) {
        self.init(messages)
    }
}

/// A message of a conversation.
public enum Message: Sendable, Hashable {
    /// What the user said.
    case user(UserMessage)
    /// What the model said, and the tools that it called.
    case assistant(AssistantMessage)
    /// The result of a tool.
    case tool(ToolMessage)
    /// Instructions.
    case system(SystemMessage)
    /// A message of another role: the model's reasoning, an activity of an AG-UI agent.
    case other(OtherMessage)

    /// A message of the user: a text.
    public static func user(_ text: String) -> Message { .user(UserMessage(text)) }

    /// A message of the model: a text.
    public static func assistant(_ text: String) -> Message { .assistant(AssistantMessage(text)) }

    /// Instructions: a text.
    public static func system(_ text: String) -> Message { .system(SystemMessage(text)) }

    init(json: JsonValue) {
        let fields = (try? json.decode(as: Fields.self)) ?? Fields(id: "", role: "")
        let contents = Contents(json: json, fields: fields)
        self =
            switch fields.role {
            case "user": .user(UserMessage(contents: contents))
            case "assistant": .assistant(AssistantMessage(contents: contents))
            case "tool": .tool(ToolMessage(contents: contents))
            case "system", "developer": .system(SystemMessage(contents: contents))
            default: .other(OtherMessage(contents: contents))
            }
    }

    private var contents: Contents {
        switch self {
        case .user(let message): message.contents
        case .assistant(let message): message.contents
        case .tool(let message): message.contents
        case .system(let message): message.contents
        case .other(let message): message.contents
        }
    }

    /// The message's id.
    public var id: String { contents.fields.id }

    /// The text; empty if there is none.
    public var text: String { contents.fields.text }

    /// The message in AG-UI's form, with all that the other properties leave out.
    public var json: JsonValue { contents.json }
}

/// What the user said.
public struct UserMessage: Sendable, Hashable {
    fileprivate let contents: Contents

    /// A text. The id is random if it is left out.
    public init(_ text: String, id: String? = nil) { self.init(contents: Contents(text, role: "user", id: id)) }

    fileprivate init(contents: Contents) { self.contents = contents }

    /// The text; the texts of its parts if it has media.
    public var text: String { contents.fields.text }
}

/// What the model said, and the tools that it called.
public struct AssistantMessage: Sendable, Hashable {
    fileprivate let contents: Contents

    /// A text. The id is random if it is left out.
    public init(_ text: String, id: String? = nil) { self.init(contents: Contents(text, role: "assistant", id: id)) }

    fileprivate init(contents: Contents) { self.contents = contents }

    /// The text; empty if there is none.
    public var text: String { contents.fields.text }

    /// The tools that the message calls.
    public var toolCalls: [ToolCall] {
        (contents.fields.toolCalls ?? []).map { call in
            ToolCall(id: call.id, name: call.function?.name ?? "", arguments: call.function?.arguments ?? "")
        }
    }
}

/// A call of a tool.
public struct ToolCall: Sendable, Hashable {
    /// The call's id, as `ToolMessage.toolCallId` has it.
    public let id: String
    /// The tool's name.
    public let name: String
    /// The arguments as the model wrote them: JSON, as a rule.
    public let arguments: String
}

/// The result of a tool.
public struct ToolMessage: Sendable, Hashable {
    fileprivate let contents: Contents

    /// The call that it is the result of.
    public var toolCallId: String { contents.fields.toolCallId ?? "" }

    /// The text of the result.
    public var text: String { contents.fields.text }
}

/// Instructions.
public struct SystemMessage: Sendable, Hashable {
    fileprivate let contents: Contents

    /// A text. The id is random if it is left out.
    public init(_ text: String, id: String? = nil) { self.init(contents: Contents(text, role: "system", id: id)) }

    fileprivate init(contents: Contents) { self.contents = contents }

    /// The text.
    public var text: String { contents.fields.text }
}

/// A message of another role.
public struct OtherMessage: Sendable, Hashable {
    fileprivate let contents: Contents

    /// The role in AG-UI's form.
    public var role: String { contents.fields.role }
}

/// A message as JSON, and what is read of it.
private struct Contents: Sendable, Hashable {
    let json: JsonValue
    let fields: Fields

    init(json: JsonValue, fields: Fields) {
        self.json = json
        self.fields = fields
    }

    init(_ text: String, role: String, id: String?) {
        let id = id ?? randomId()
        fields = Fields(id: id, role: role, content: .text(text))
        json = ["id": JsonValue(stringLiteral: id), "role": JsonValue(stringLiteral: role), "content": JsonValue(stringLiteral: text)]
    }
}

/// What is read of a message.
private struct Fields: Decodable, Sendable, Hashable {
    struct Call: Decodable, Hashable {
        struct Function: Decodable, Hashable {
            let name: String
            let arguments: String
        }
        let id: String
        let function: Function?
    }

    struct Part: Decodable, Hashable {
        let text: String?
    }

    enum Content: Decodable, Hashable {
        case text(String)
        case parts([Part])
        case other

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let text = try? value.decode(String.self) {
                self = .text(text)
            } else if let parts = try? value.decode([Part].self) {
                self = .parts(parts)
            } else {
                self = .other
            }
        }
    }

    let id: String
    let role: String
    var content: Content?
    var toolCallId: String?
    var toolCalls: [Call]?

    var text: String {
        switch content {
        case .text(let text): text
        case .parts(let parts): parts.compactMap(\.text).joined()
        case .other, nil: ""
        }
    }
}

extension JsonValue {
    /// The elements of an array, each as it is written.
    var elements: [JsonValue] {
        let bytes = Array(text.utf8)
        var elements: [JsonValue] = []
        var (depth, isString, isEscaped) = (0, false, false)
        var start = 0
        for (at, byte) in bytes.enumerated() {
            if isString {
                isString = byte != UInt8(ascii: "\"") || isEscaped
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth == 1 { start = at + 1 }
            case UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ","):
                let isEnd = byte != UInt8(ascii: ",")
                if depth == 1 {
                    let element = String(decoding: bytes[start..<at], as: UTF8.self)
                    if element.contains(where: { !$0.isWhitespace }) { elements.append(JsonValue(text: element)) }
                    start = at + 1
                }
                if isEnd { depth -= 1 }
            default: break
            }
        }
        return elements
    }
}
