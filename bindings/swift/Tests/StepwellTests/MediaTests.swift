import Foundation
import Testing

@testable import Stepwell

private let png = Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/// Pictures, sound and documents: what the user shows, and what tools give.
@Suite struct MediaTests {
    @Test func textsAndMediaAreSentInOrder() async throws {
        let mock = try MockLlm(MockLlm.text("Both."))
        let agent = Agent(model: mock.model)
        #expect(try await agent.run("Is", try image(png), "like", try image(png)).text == "Both.")
    }

    @Test func aToolGivesAPicture() async throws {
        let mock = try MockLlm(MockLlm.call("draw", "{}"), MockLlm.text("Nice."))
        let draw = AgentTool("draw", "Draws.", output: { _, _ in try image(png) })
        #expect(try await Agent(model: mock.model, tools: [draw]).run("Draw").text == "Nice.")
    }

    @Test func whatIsNoneIsToldAtOnce() throws {
        #expect(throws: StepwellError.self) { try image("no/such.png") }
        #expect(throws: StepwellError.self) { try image(Data()) }
        #expect(throws: StepwellError.self) { try audio(png) }
        #expect(throws: StepwellError.self) { try image("ftp://a/b.png") }
    }
}
