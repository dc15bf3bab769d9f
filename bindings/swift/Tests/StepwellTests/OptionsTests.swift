import Foundation
import Testing

@testable import Stepwell

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What the model was sent: the first message, the key, and the user.
private struct Sent: Decodable, Equatable {
    struct Body: Decodable, Equatable {
        struct Message: Decodable, Equatable { let content: String? }
        let messages: [Message]
        let user: String?
    }

    let headers: [String: String]
    let body: Body

    var system: String? { body.messages.first?.content }
}

private func sent(_ mock: MockLlm) async throws -> [Sent] {
    let address = URL(string: String(mock.baseUrl.dropLast("/v1".count)) + "/__requests")!
    let (data, _) = try await URLSession.shared.data(from: address)
    return try JSONDecoder().decode([Sent].self, from: data)
}

private func agent(
    _ mock: MockLlm, instructions: String? = nil, tools: [AgentTool] = [], credentials: CredentialSource? = nil,
    hooks: [AgentHook] = [], instructionsFrom: InstructionsSource? = nil
) throws -> Agent {
    try Agent(
        provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl, instructions: instructions, tools: tools,
        threadId: "garden", credentials: credentials, hooks: hooks, instructionsFrom: instructionsFrom)
}

@Test("a turn is otherwise than its agent, and the next one is not")
func turnOptions() async throws {
    let mock = try MockLlm(MockLlm.call("own", "{}"), MockLlm.text("Yes."), MockLlm.text("Again."))
    let agent = try agent(mock, instructions: "Be kind.", tools: [AgentTool("work", "Works.") { _ in "of the agent" }])
    let options = TurnOptions(
        instructions: "Be brief.", settings: GenerationSettings(temperature: 0), toolNames: [], user: "user-7")
    let own = AgentTool("own", "Of this turn.") { _ in "of the turn" }
    #expect(try await agent.sendAndWait("Hello", options: options, tools: [own]).text == "Yes.")
    #expect(try await agent.sendAndWait("And?").text == "Again.")
    let requests = try await sent(mock)
    #expect(requests.map(\.system) == ["Be brief.", "Be brief.", "Be kind."])
    #expect(requests.map(\.body.user) == ["user-7", "user-7", nil])
    #expect(requests[1].body.messages.last?.content == "of the turn")
    #expect(throws: StepwellError.self) {
        try agent.startTurn(text: "Hello", options: TurnOptions(toolNames: ["wrok"]))
    }
}

@Test("the app gives the key of each request")
func credentials() async throws {
    final class Tokens: CredentialSource {
        func credentials(request: CredentialRequest) async throws -> Authorization {
            Authorization(key: request.rejected ? "new" : "old", headers: ["x-team": "blue"])
        }
    }
    final class Nobody: CredentialSource {
        func credentials(request: CredentialRequest) async throws -> Authorization {
            throw CallbackError.Failed(reason: "nobody has signed in")
        }
    }
    let mock = try MockLlm(#"{"status":401,"error":"Expired"}"#, MockLlm.text("Yes."))
    #expect(try await agent(mock, credentials: Tokens()).sendAndWait("Hello").text == "Yes.")
    let requests = try await sent(mock)
    #expect(requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])
    #expect(requests.last?.headers["x-team"] == "blue")
    let failed = try await agent(mock, credentials: Nobody()).startTurn(text: "Hello").finish()
    #expect(failed.outcome.problem?.kind == .authentication)
    #expect(failed.outcome.problem?.message.contains("nobody has signed in") == true)
}

@Test("hooks look, change and refuse")
func hooks() async throws {
    let mock = try MockLlm(MockLlm.text("Yes."))
    let brief = AgentHook("brief", beforeRequest: { _ in [["id": "u", "role": "user", "content": "***"]] })
    let refusing = AgentHook("guard", afterAnswer: { answer in throw HookRefusal("it says \(answer.text)") })
    let turn = try agent(mock, hooks: [brief, refusing]).startTurn(text: "A secret")
    let finished = try await turn.finish()
    #expect(finished.outcome.problem?.kind == .refusedByHook)
    #expect(finished.outcome.problem?.message.contains("it says Yes.") == true)
    struct Broken: Error {}
    let broken = AgentHook("broken", beforeRequest: { _ in throw Broken() })
    let failed = try await agent(mock, hooks: [broken]).startTurn(text: "Hello").finish()
    #expect(failed.outcome.problem?.kind == .refusedByHook)
    #expect(failed.outcome.problem?.message.contains("Broken") == true)
}

@Test("instructions are made for each turn")
func instructions() async throws {
    final class Made: InstructionsSource {
        func instructions(request: InstructionsRequest) async throws -> String {
            if request.message == nil { throw CallbackError.Failed(reason: "no profile") }
            return "For \(request.thread.thread)."
        }
    }
    let mock = try MockLlm(MockLlm.text("Yes."))
    let agent = try agent(mock, instructionsFrom: Made())
    _ = try await agent.sendAndWait("Hello")
    #expect(try await sent(mock).map(\.system) == ["For garden."])
    let failed = try await agent.start(start: Start(runId: "second")).finish()
    #expect(failed.outcome.problem?.kind == .appFailed)
}
