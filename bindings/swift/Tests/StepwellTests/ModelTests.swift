import Foundation
import Testing

@testable import Stepwell

/// Which model, from where.
@Suite struct ModelTests {
    @Test func everyProviderOfTheTableHasAFunction() throws {
        let url = "http://localhost/v1"
        let made: [Model] = [
            .openAI("m"), .openRouter("m"), .anthropic("m"), .gemini("m"), .mistral("m"), .cohere("m"), .groq("m"),
            .together("m"), .fireworks("m"), .nvidia("m"), .ollama("m"), .azure("m"), .vertex("m"),
            .bedrock("m"),
            .openAICompatible("m", baseUrl: url), .agUi(url),
        ]
        let known = try providers().map(\.name)
        #expect(Set(made.map(\.provider)) == Set(known))
    }

    @Test func aTextNamesAModel() {
        let model: Model = "ollama:llama3.3:70b"
        #expect(model == .ollama("llama3.3:70b"))
        #expect("\(model)" == "ollama:llama3.3:70b")
    }

    @Test func aKeyIsTheEnvironmentsUnlessThereIsAnAddress() throws {
        setenv("COHERE_API_KEY", "of the environment", 1)
        defer { unsetenv("COHERE_API_KEY") }
        #expect(try Model.cohere("m").key() == "of the environment")
        #expect(try Model.cohere("m", apiKey: "own").key() == "own")
        #expect(try Model.cohere("m", baseUrl: "http://localhost/v1").key() == nil)
        unsetenv("COHERE_API_KEY")
        #expect(throws: StepwellError.self) { try Model.cohere("m").key() }
        #expect(try Model.ollama("m").key() == nil)
    }

    @Test func aKeyIsNotPrinted() {
        let model = Model.openAI("m", apiKey: "secret", headers: ["x": "secret"])
        var dumped = ""
        dump(model, to: &dumped)
        for text in ["\(model)", String(reflecting: model), dumped] { #expect(!text.contains("secret")) }
    }
}
