import Foundation
import Testing

@testable import Stepwell

private let secret = "My doctor says that my blood pressure is high."

private func refused() async throws -> TurnError {
    let mock = try MockLlm(#"{"status":401,"error":"Incorrect API key"}"#)
    let agent = try Agent(provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl)
    return try #require(await thrown(TurnError.self) { try await agent.sendAndWait(secret) })
}

/// What an app shows and logs of an error.
@Suite struct ErrorTests {
    @Test func aTurnErrorHasItsProblem() async throws {
        let error = try await refused()
        guard case .Authentication(let problem, let finished) = error else { return #expect(Bool(false), "\(error)") }
        #expect(error.problem == problem)
        #expect(error.finished == finished)
        #expect(error.kind == .authentication)
        #expect(!error.isRetryable)
    }

    @Test func anErrorIsASentenceWithoutTheConversation() async throws {
        let error = try await refused()
        // The history is within, for the app.
        #expect(error.finished.messages.text.contains(secret))
        #expect(error.localizedDescription == error.problem.message)
        let bridged = error as NSError
        #expect(bridged.localizedDescription == error.problem.message)
        #expect(bridged.localizedRecoverySuggestion == error.problem.advice)
        var dumped = ""
        dump(error, to: &dumped)
        let failure: Result<String, any Error> = .failure(error)
        for text in [
            "\(error)", String(reflecting: error), "\([error])", "\(failure)", "\(bridged)", bridged.debugDescription, dumped,
        ] {
            #expect(!text.contains("doctor"), "\(text)")
            #expect(text.count < 1000, "\(text)")
        }
        #expect("\(error)" == "\(error.problem.message); \(error.problem.advice)")
    }

    @Test func everyErrorSaysWhatIsWrong() {
        let errors: [(any Error, String)] = [
            (StepwellError.Misuse(reason: "the turn is over", advice: "begin another turn"), "the turn is over"),
            (StoreError.NoTurn(turn: "t"), "the store has no turn `t` in this thread"),
            (ToolError.Failed(reason: "no such city"), "no such city"),
            (CallbackError.Failed(reason: "no window"), "no window"),
            (HookRefusal("not on Sundays"), "not on Sundays"),
            (SchemaError(description: "it does not tell"), "it does not tell"),
        ]
        for (error, expected) in errors { #expect(error.localizedDescription == expected) }
        let misuse: any LocalizedError = StepwellError.Misuse(reason: "the turn is over", advice: "begin another turn")
        #expect(misuse.recoverySuggestion == "begin another turn")
    }

    @Test func aBridgedErrorIsToldWithoutItsAddress() throws {
        let url = try #require(URL(string: "https://example.com/?token=secret"))
        let lost = URLError(.notConnectedToInternet, userInfo: [NSURLErrorFailingURLErrorKey: url])
        #expect(sentence(of: lost).contains("-1009"))
        #expect(!sentence(of: lost).contains("secret"))
    }
}
