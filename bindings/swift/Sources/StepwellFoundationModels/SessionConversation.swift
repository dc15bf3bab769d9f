import Stepwell

#if canImport(FoundationModels)
    import FoundationModels
#else
    import FoundationModelsStandIn
#endif

/// The transcript of a session in Stepwell's form.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
struct SessionConversation {
    /// The instructions; nil if the transcript has none.
    let instructions: String?
    /// The messages in AG-UI's form. Reasoning and segments of custom types are left out.
    let messages: JsonValue

    init(_ transcript: FrameworkTranscript) throws {
        var instructions: [String] = []
        var messages: [SentMessage] = []
        for entry in transcript {
            switch entry {
            case .instructions(let it): instructions.append(text(of: it.segments))
            case .prompt(let it): messages.append(SentMessage(id: entry.id, role: "user", content: text(of: it.segments)))
            case .response(let it):
                messages.append(SentMessage(id: entry.id, role: "assistant", content: text(of: it.segments)))
            case .toolCalls(let it):
                let calls = it.map { call in
                    SentMessage.Call(id: call.id, function: .init(name: call.toolName, arguments: call.arguments.jsonString))
                }
                messages.append(SentMessage(id: entry.id, role: "assistant", toolCalls: calls))
            case .toolOutput(let it):
                messages.append(
                    SentMessage(id: "\(it.id)-result", role: "tool", content: text(of: it.segments), toolCallId: it.id))
            default: break
            }
        }
        self.instructions = instructions.isEmpty ? nil : instructions.joined(separator: "\n\n")
        self.messages = try JsonValue(encoding: messages)
    }
}

/// A message in AG-UI's form.
private struct SentMessage: Encodable {
    struct Call: Encodable {
        struct Function: Encodable {
            let name: String
            let arguments: String
        }
        let id: String
        let type = "function"
        let function: Function
    }

    let id: String
    let role: String
    var content: String?
    var toolCallId: String?
    var toolCalls: [Call]?
}

@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
private func text(of segments: [FrameworkTranscript.Segment]) -> String {
    segments.compactMap { segment in
        switch segment {
        case .text(let it): it.content
        case .structure(let it): it.content.jsonString
        default: nil
        }
    }.joined(separator: "\n")
}

@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
extension RunOptions {
    /// The options of a request: one hop, with the tools of the session alone.
    init(_ request: LanguageModelExecutorGenerationRequest, instructions: String?) throws {
        let options = request.generationOptions
        let isGreedy = options.samplingMode == .greedy
        let choice: ToolChoice? =
            switch options.toolCallingMode?.kind {
            case .required?: .required
            case .disallowed?: .never
            default: nil
            }
        self.init(
            instructions: instructions,
            settings: GenerationSettings(
                temperature: options.temperature ?? (isGreedy ? 0 : nil),
                maxOutputTokens: options.maximumResponseTokens.flatMap(UInt32.init(exactly:)),
                toolChoice: choice),
            limits: Limits(continueAfterTools: false),
            tools: try request.enabledToolDefinitions.map { tool in
                // The session runs the tool.
                AgentTool(tool.name, tool.description, parameters: try JsonValue(encoding: tool.parameters)) {
                    (_: ToolInvocation) in ""
                }
            },
            // None of the agent's own.
            toolNames: [])
    }
}

/// The framework's error for what went wrong, if it has a case for it.
@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
func sessionError(_ error: StepwellError) -> any Error {
    let description = error.description
    return switch error.kind {
    case .contextTooLong:
        // The providers' errors have no numbers.
        LanguageModelError.contextSizeExceeded(.init(contextSize: 0, tokenCount: 0, debugDescription: description))
    case .rateLimit, .quota: LanguageModelError.rateLimited(.init(resetDate: nil, debugDescription: description))
    case .contentFilter: LanguageModelError.guardrailViolation(.init(debugDescription: description))
    case .refused: LanguageModelError.refusal(.init(explanation: error.message, debugDescription: description))
    case .timeout: LanguageModelError.timeout(.init(debugDescription: description))
    default: error
    }
}
