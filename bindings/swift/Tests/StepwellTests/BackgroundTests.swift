import Foundation
import Testing

@testable import Stepwell

/// Models whose answers the provider makes in the background.
@Suite struct BackgroundTests {
    private func inBackground(_ mock: MockLlm) -> Model {
        .openAI("gpt-5", apiKey: "a key", baseUrl: mock.baseUrl, background: true)
    }

    @Test("the answer is asked for in the background")
    func asked() async throws {
        let mock = try MockLlm(MockLlm.text("Here I am."))
        #expect(try await Agent(model: inBackground(mock)).run("Hello").text == "Here I am.")
        let body = try #require(try await mock.requests().first).body
        #expect(body.background == true && body.store == true)
    }

    @Test("a model of the fallback may be in the background too")
    func fallback() async throws {
        let first = try MockLlm(#"{"status":503,"error":"Out of order"}"#)
        let second = try MockLlm(MockLlm.text("I can."))
        let model = Model.openAI("gpt-5", apiKey: "a key", baseUrl: first.baseUrl)
        let agent = Agent(model: model, fallback: [inBackground(second)], retry: RetryPolicy(attempts: 1))
        #expect(try await agent.run("Hello").text == "I can.")
        let bodies = try await (first.requests() + second.requests()).map(\.body)
        #expect(bodies.map(\.background) == [nil, true])
    }

    @Test("a model without a background is refused")
    func refused() async throws {
        let model = Model.openAI("gpt-5", apiKey: "a key", api: "chat", background: true)
        await #expect(throws: StepwellError.self) { try await Agent(model: model).run("Hello") }
    }
}
