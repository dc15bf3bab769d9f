@testable import Stepwell
import Testing

/// The error of this type that something throws. `#expect(throws:)` does not give it before Swift 6.1.
func thrown<Failure: Error>(
    _ type: Failure.Type, isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation, by run: () async throws -> some Sendable
) async -> Failure? {
    do {
        let value = try await run()
        Issue.record("nothing was thrown: \(value)", sourceLocation: sourceLocation)
    } catch let error as Failure {
        return error
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
    return nil
}

/// The call of a turn that waits for its result.
func deferredCall(_ turn: Turn<String>) async throws -> String {
    let calls = try await turn.messages().compactMap { message in
        if case .assistant(let said) = message { said.toolCalls.first?.id } else { nil }
    }
    return try #require(calls.last)
}
