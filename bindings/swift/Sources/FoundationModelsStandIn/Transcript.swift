import Foundation

/// See Apple's `Transcript`.
public struct Transcript: Sendable, RandomAccessCollection {
    public enum Entry: Sendable, Identifiable {
        case instructions(Instructions)
        case prompt(Prompt)
        case toolCalls(ToolCalls)
        case toolOutput(ToolOutput)
        case response(Response)
        case reasoning(Reasoning)

        public var id: String {
            switch self {
            case .instructions(let it): it.id
            case .prompt(let it): it.id
            case .toolCalls(let it): it.id
            case .toolOutput(let it): it.id
            case .response(let it): it.id
            case .reasoning(let it): it.id
            }
        }
    }

    public enum Segment: Sendable {
        case text(TextSegment)
        case structure(StructuredSegment)
        case attachment(AttachmentSegment)
    }

    public struct TextSegment: Sendable {
        public var content: String
        public init(id: String = UUID().uuidString, content: String) { self.content = content }
    }

    public struct AttachmentSegment: Sendable {}

    public struct StructuredSegment: Sendable {
        public var content: GeneratedContent
        public init(id: String = UUID().uuidString, source: String, content: GeneratedContent) { self.content = content }
    }

    public struct ToolDefinition: Sendable {
        public var name, description: String
        public var parameters: GenerationSchema
        public init(name: String, description: String, parameters: GenerationSchema) {
            (self.name, self.description, self.parameters) = (name, description, parameters)
        }
    }

    public struct Instructions: Sendable {
        public var id: String
        public var segments: [Segment]
        public var toolDefinitions: [ToolDefinition]
        public init(id: String = UUID().uuidString, segments: [Segment], toolDefinitions: [ToolDefinition]) {
            (self.id, self.segments, self.toolDefinitions) = (id, segments, toolDefinitions)
        }
    }

    public struct Prompt: Sendable {
        public var id: String
        public var segments: [Segment]
        public init(id: String = UUID().uuidString, segments: [Segment]) { (self.id, self.segments) = (id, segments) }
    }

    public struct Response: Sendable {
        public var id: String
        public var segments: [Segment]
        public init(id: String = UUID().uuidString, assetIDs: [String], segments: [Segment]) {
            (self.id, self.segments) = (id, segments)
        }
    }

    public struct Reasoning: Sendable {
        public var id: String
        package init(id: String = UUID().uuidString) { self.id = id }
    }

    public struct ToolCall: Sendable {
        public var id, toolName: String
        public var arguments: GeneratedContent
        public init(id: String, toolName: String, arguments: GeneratedContent) {
            (self.id, self.toolName, self.arguments) = (id, toolName, arguments)
        }
    }

    public struct ToolCalls: Sendable, RandomAccessCollection {
        public var id: String
        private let calls: [ToolCall]
        public init(id: String = UUID().uuidString, _ calls: some Sequence<ToolCall>) { (self.id, self.calls) = (id, Array(calls)) }
        public var startIndex: Int { calls.startIndex }
        public var endIndex: Int { calls.endIndex }
        public subscript(position: Int) -> ToolCall { calls[position] }
    }

    public struct ToolOutput: Sendable {
        public var id, toolName: String
        public var segments: [Segment]
        public init(id: String, toolName: String, segments: [Segment]) {
            (self.id, self.toolName, self.segments) = (id, toolName, segments)
        }
    }

    private let entries: [Entry]

    public init(entries: some Sequence<Entry> = []) { self.entries = Array(entries) }
    public var startIndex: Int { entries.startIndex }
    public var endIndex: Int { entries.endIndex }
    public subscript(position: Int) -> Entry { entries[position] }
}
