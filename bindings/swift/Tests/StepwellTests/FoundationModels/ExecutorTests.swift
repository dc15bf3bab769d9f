// Against the declarations of our own, which the tests can script.
#if canImport(FoundationModelsStandIn)

import Foundation
import FoundationModelsStandIn
import Stepwell
import StepwellFoundationModels
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

private typealias Entry = FoundationModelsStandIn.Transcript.Entry
private typealias SentEvent = LanguageModelExecutorGenerationChannel.Sent

/// Collects the events that an executor sends.
private actor Channel {
    private(set) var sent: [SentEvent] = []
    func add(_ event: SentEvent) { sent.append(event) }

    /// The text, and the calls without their ids.
    var text: String { sent.reduce("") { if case .text(let text) = $1 { $0 + text } else { $0 } } }
    var calls: [String] {
        sent.compactMap { if case .call(_, let name, let arguments) = $0 { "\(name) \(arguments)" } else { nil } }
    }
}

/// Answers a request as a session does.
private func respond(
    _ model: StepwellLanguageModel, _ entries: [Entry], tools: [FoundationModelsStandIn.Transcript.ToolDefinition] = [],
    schema: GenerationSchema? = nil, options: GenerationOptions = GenerationOptions()
) async throws -> Channel {
    let executor = try StepwellExecutor(configuration: model.executorConfiguration)
    let channel = Channel()
    try await executor.respond(
        to: LanguageModelExecutorGenerationRequest(
            transcript: .init(entries: entries), enabledTools: tools, schema: schema, generationOptions: options),
        model: model, streamingInto: LanguageModelExecutorGenerationChannel { await channel.add($0) })
    return channel
}

/// The body of a request to the model.
private struct Body: Decodable {
    struct Message: Decodable {
        struct Call: Decodable { let id: String }
        let role: String
        let content: String?
        let tool_calls: [Call]?
        let tool_call_id: String?
    }
    struct Tool: Decodable {
        struct Function: Decodable { let name: String }
        let function: Function
    }
    let messages: [Message]
    let tools: [Tool]?
    let temperature: Double?
    let max_tokens: Int?
}

extension MockLlm {
    fileprivate func bodies() async throws -> [Body] {
        struct Request: Decodable { let body: Body }
        let address = URL(string: baseUrl.dropLast("/v1".count) + "/__requests")!
        let (data, _) = try await URLSession.shared.data(from: address)
        return try JSONDecoder().decode([Request].self, from: data).map(\.body)
    }
}

private func prompt(_ text: String) -> Entry { .prompt(.init(segments: [.text(.init(content: text))])) }

private let person = try! GenerationSchema(
    root: DynamicGenerationSchema(
        name: "Person", properties: [.init(name: "name", schema: DynamicGenerationSchema(type: String.self))]),
    dependencies: [])

private let lookUp = FoundationModelsStandIn.Transcript.ToolDefinition(
    name: "look_up", description: "The number of a person.", parameters: person)

@Test("the text is followed by the usage")
func text() async throws {
    let mock = try MockLlm(#"{"steps":[{"text":"It is "},{"text":"42."}],"usage":{"input":100,"output":10}}"#)
    let instructions = Entry.instructions(.init(segments: [.text(.init(content: "Be brief."))], toolDefinitions: []))
    let channel = try await respond(
        StepwellLanguageModel(mock.model), [instructions, prompt("What is it?")],
        options: GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 7))
    #expect(await channel.text == "It is 42.")
    let last = await channel.sent.last
    #expect(
        last == .usage(.init(totalTokenCount: 100, cachedTokenCount: 0), .init(totalTokenCount: 10, reasoningTokenCount: 0)))
    let body = try #require(try await mock.bodies().first)
    #expect(body.messages.map(\.role) == ["system", "user"])
    #expect(body.messages.compactMap(\.content) == ["Be brief.", "What is it?"])
    #expect(body.temperature == 0 && body.max_tokens == 7 && body.tools == nil)
}

@Test("text arrives early, and cancelling ends the request")
func cancelling() async throws {
    let mock = try MockLlm(MockLlm.stall("Well"))
    let model = StepwellLanguageModel(mock.model)
    let (events, channel) = AsyncStream.makeStream(of: SentEvent.self)
    let response = Task {
        try await StepwellExecutor(configuration: model.executorConfiguration).respond(
            to: LanguageModelExecutorGenerationRequest(transcript: .init(entries: [prompt("Go")])),
            model: model, streamingInto: LanguageModelExecutorGenerationChannel { channel.yield($0) })
    }
    for await event in events {
        #expect(event == .text("Well"))
        response.cancel()
        break
    }
    await #expect(throws: CancellationError.self) { try await response.value }
}

@Test("the session runs the tools and sends their results")
func tools() async throws {
    let mock = try MockLlm(MockLlm.call("look_up", #"{"name":"alice"}"#), MockLlm.text("It is 42."))
    // The agent's own tools and store belong to the agent's own turns.
    let own = AgentTool("own", "A tool of the agent.") { (_: ToolInvocation) in "never" }
    let store = SessionStore.inMemory()
    let model = StepwellLanguageModel(agent: Agent(model: mock.model, tools: [own], store: store))
    let first = try await respond(model, [prompt("Alice's?")], tools: [lookUp])
    #expect(await first.calls == [#"look_up {"name":"alice"}"#])
    guard case .call(let id, _, let arguments)? = await first.sent.first else {
        Issue.record("no call was sent")
        return
    }
    let calls = Entry.toolCalls(
        .init([.init(id: id, toolName: "look_up", arguments: try GeneratedContent(json: arguments))]))
    let output = Entry.toolOutput(.init(id: id, toolName: "look_up", segments: [.text(.init(content: "42"))]))
    let second = try await respond(
        model, [prompt("Alice's?"), calls, output], tools: [lookUp],
        options: GenerationOptions(toolCallingMode: .disallowed))
    #expect(await second.text == "It is 42.")
    #expect(await second.calls == [])
    let bodies = try await mock.bodies()
    #expect(bodies[0].tools?.map(\.function.name) == ["look_up"])
    #expect(bodies[1].messages.map(\.role) == ["user", "assistant", "tool"])
    #expect(bodies[1].messages.last?.content == "42")
    #expect(bodies[1].messages.last?.tool_call_id == bodies[1].messages[1].tool_calls?.first?.id)
}

@Test("a typed answer is sent once it fits")
func typed() async throws {
    let mock = try MockLlm(MockLlm.text("Alice"), MockLlm.text(#"{\"name\":\"Alice\"}"#))
    let channel = try await respond(StepwellLanguageModel(mock.model), [prompt("Who?")], schema: person)
    #expect(await channel.text == #"{"name":"Alice"}"#)
    #expect(try await mock.bodies().count == 2)
}

@Test("errors are the framework's where it has a case")
func errors() async throws {
    func error(_ hop: String) async throws -> any Error {
        let mock = try MockLlm(hop)
        let model = StepwellLanguageModel(agent: Agent(model: mock.model, retry: RetryPolicy(attempts: 1)))
        do {
            _ = try await respond(model, [prompt("Hi")])
        } catch {
            return error
        }
        throw TestFault(description: "nothing was thrown")
    }
    guard case LanguageModelError.rateLimited = try await error(#"{"status":429,"error":"Too many requests"}"#) else {
        Issue.record("no rate limit")
        return
    }
    guard case LanguageModelError.contextSizeExceeded = try await error(#"{"status":400,"error":"prompt is too long"}"#) else {
        Issue.record("no context size")
        return
    }
    #expect((try await error(#"{"status":401,"error":"No"}"#) as? StepwellError)?.kind == .authentication)
}

@Test("copies of a model share an executor")
func configurations() {
    let model = StepwellLanguageModel(.ollama("llama3.3"))
    let copy = model
    #expect(model.executorConfiguration == copy.executorConfiguration)
    #expect(model.executorConfiguration != StepwellLanguageModel(.ollama("llama3.3")).executorConfiguration)
    #expect(model.capabilities.contains(.toolCalling) && !model.capabilities.contains(.vision))
}

#endif
