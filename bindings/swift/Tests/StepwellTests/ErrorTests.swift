import Foundation
import Testing

@testable import Stepwell

private let secret = "My doctor says that my blood pressure is high."

private func refused() async throws -> StepwellError {
    let mock = try MockLlm(#"{"status":401,"error":"Incorrect API key"}"#)
    return try #require(await thrown(StepwellError.self) { try await Agent(model: mock.model).run(secret) })
}

/// What an app shows and logs of an error.
@Suite struct ErrorTests {
    @Test func anErrorOfATurnSaysWhatThereIs() async throws {
        let error = try await refused()
        #expect(error.kind == .authentication)
        #expect(error.provider == "openai-compatible")
        #expect(error.status == 401)
        #expect(!error.retryable)
        #expect(error.result?.stopReason == .failed)
        #expect(error.result?.fullText == "")
    }

    @Test func anErrorIsASentenceWithoutTheConversation() async throws {
        let error = try await refused()
        // The history is within, for the app.
        #expect(error.result?.messages.json.text.contains(secret) == true)
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

    @Test func aResultIsPrintedWithoutTheConversation() async throws {
        let mock = try MockLlm(MockLlm.text("See a doctor"))
        let result = try await Agent(model: mock.model).run(secret)
        var dumped = ""
        dump(result, to: &dumped)
        for text in ["\(result)", String(reflecting: result), dumped] { #expect(!text.contains("doctor"), "\(text)") }
    }

    @Test func everyErrorSaysWhatIsWrong() {
        let errors: [(any Error, String)] = [
            (StepwellError.misuse("the turn is over", advice: "begin another turn"), "the turn is over"),
            (StoreError.NoTurn(turn: "t"), "the store has no turn `t` in this thread"),
            (ToolError.Failed(reason: "no such city"), "no such city"),
            (CallbackError.Failed(reason: "no window"), "no window"),
            (HookRefusal("not on Sundays"), "not on Sundays"),
            (SchemaError(description: "it does not tell"), "it does not tell"),
        ]
        for (error, expected) in errors { #expect(error.localizedDescription == expected) }
        let misuse: any LocalizedError = StepwellError.misuse("the turn is over", advice: "begin another turn")
        #expect(misuse.recoverySuggestion == "begin another turn")
    }

    @Test func aBridgedErrorIsToldWithoutItsAddress() throws {
        let url = try #require(URL(string: "https://example.com/?token=secret"))
        let lost = URLError(.notConnectedToInternet, userInfo: [NSURLErrorFailingURLErrorKey: url])
        #expect(sentence(of: lost).contains("-1009"))
        #expect(!sentence(of: lost).contains("secret"))
    }
}
