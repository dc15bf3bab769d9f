import Testing

/// The error of this type that something throws. `#expect(throws:)` does not give it before Swift 6.1.
func thrown<Failure: Error>(
    _ type: Failure.Type, sourceLocation: SourceLocation = #_sourceLocation, by run: () async throws -> some Any
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
