import Foundation
import Testing

@testable import Stepwell

private func agent(
    _ mock: MockLlm, instructions: String? = nil, tools: [AgentTool] = [], hooks: [AgentHook] = [],
    credentials: (@Sendable (CredentialRequest) async throws -> Authorization)? = nil,
    instructionsFrom: (@Sendable (InstructionsRequest) async throws -> String)? = nil
) -> Agent {
    Agent(
        model: mock.model, instructions: instructions, tools: tools, hooks: hooks, credentials: credentials,
        instructionsFrom: instructionsFrom)
}

/// What the app's code has thrown.
private struct Missing: Error, CustomStringConvertible {
    let description: String
}

@Test("a turn is otherwise than its agent, and the next one is not")
func turnOptions() async throws {
    let mock = try MockLlm(MockLlm.call("own", "{}"), MockLlm.text("Yes."), MockLlm.text("Again."))
    let agent = agent(mock, instructions: "Be kind.", tools: [AgentTool("work", "Works.") { _ in "of the agent" }])
    let own = AgentTool("own", "Of this turn.") { _ in "of the turn" }
    let options = RunOptions(
        instructions: "Be brief.", settings: GenerationSettings(temperature: 0), tools: [own], toolNames: [],
        user: "user-7")
    #expect(try await agent.run("Hello", options: options).text == "Yes.")
    #expect(try await agent.run("And?").text == "Again.")
    let requests = try await mock.requests()
    #expect(requests.map(\.system) == ["Be brief.", "Be brief.", "Be kind."])
    #expect(requests.map(\.body.user) == ["user-7", "user-7", nil])
    #expect(requests[1].body.messages?.last?.content == "of the turn")
    let error = await thrown(StepwellError.self) {
        try await agent.run("Hello", options: RunOptions(toolNames: ["wrok"]))
    }
    #expect(error?.kind == .misuse)
}

@Test("the app gives the key of each request")
func credentials() async throws {
    let mock = try MockLlm(#"{"status":401,"error":"Expired"}"#, MockLlm.text("Yes."))
    let tokens = agent(
        mock, credentials: { Authorization(key: $0.rejected ? "new" : "old", headers: ["x-team": "blue"]) })
    #expect(try await tokens.run("Hello").text == "Yes.")
    let requests = try await mock.requests()
    #expect(requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])
    #expect(requests.last?.headers["x-team"] == "blue")
    let nobody = agent(mock, credentials: { _ in throw Missing(description: "nobody has signed in") })
    let error = await thrown(StepwellError.self) { try await nobody.run("Hello") }
    #expect(error?.kind == .authentication)
    #expect(error?.message.contains("nobody has signed in") == true)
}

@Test("hooks look, change and refuse")
func hooks() async throws {
    let mock = try MockLlm(MockLlm.text("Yes."))
    let brief = AgentHook("brief", beforeRequest: { _ in [["id": "u", "role": "user", "content": "***"]] })
    let refusing = AgentHook("guard", afterAnswer: { answer in throw HookRefusal("it says \(answer.text)") })
    let error = await thrown(StepwellError.self) { try await agent(mock, hooks: [brief, refusing]).run("A secret") }
    #expect(error?.kind == .refused)
    #expect(error?.message.contains("it says Yes.") == true)
    struct Broken: Error {}
    let broken = AgentHook("broken", beforeRequest: { _ in throw Broken() })
    let failed = await thrown(StepwellError.self) { try await agent(mock, hooks: [broken]).run("Hello") }
    #expect(failed?.kind == .refused)
    #expect(failed?.message.contains("Broken") == true)
}

@Test("instructions are made for each turn")
func instructions() async throws {
    let mock = try MockLlm(MockLlm.text("Yes."))
    let agent = agent(
        mock,
        instructionsFrom: { request in
            if request.message == nil { throw Missing(description: "no profile") }
            return "For \(request.thread.thread)."
        })
    let garden = try agent.conversation(id: "garden")
    _ = try await garden.send("Hello")
    #expect(try await mock.requests().map(\.system) == ["For garden."])
    let error = await thrown(StepwellError.self) { try await garden.stream(Start(runId: "second")).result() }
    #expect(error?.kind == .toolFailed)
}
