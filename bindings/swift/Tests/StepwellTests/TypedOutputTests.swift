import Testing

@testable import Stepwell

private struct Trip: ToolArguments, Equatable {
    let city: String
    let days: UInt8
    static let descriptions = ["days": "At least one."]
}

private struct Opaque: Decodable {
    init(from decoder: any Decoder) throws {
        var items = try decoder.unkeyedContainer()
        _ = try items.nestedUnkeyedContainer()
    }
}

private func agent(_ mock: MockLlm) throws -> Agent {
    try Agent(provider: "openai-compatible", model: "mock", baseUrl: mock.baseUrl)
}

private let bergen = #"{\"city\":\"Bergen\",\"days\":3}"#

/// Answers that are of a type of the app's.
@Suite struct TypedOutputTests {
    @Test func theAnswerIsOfTheType() async throws {
        let mock = try MockLlm(MockLlm.text(bergen), MockLlm.text("[\(bergen)]"))
        let agent = try agent(mock)
        #expect(try await agent.run("Where to?", Trip.self) == Trip(city: "Bergen", days: 3))
        let trips: [Trip] = try await agent.run("Others?")
        #expect(trips == [Trip(city: "Bergen", days: 3)])
    }

    @Test func whatDoesNotFitGoesBackToTheModel() async throws {
        let misfit = #"{\"city\":\"Bergen\",\"days\":300}"#
        let mock = try MockLlm(MockLlm.text(misfit), MockLlm.text(bergen))
        let agent = try agent(mock)
        #expect(try await agent.run("Where to?", Trip.self).days == 3)
    }

    @Test func whatNeverFitsIsAnErrorWithTheText() async throws {
        let mock = try MockLlm(MockLlm.text("Bergen"), MockLlm.text("Bergen!"), MockLlm.text("I said: Bergen"))
        let agent = try agent(mock)
        await #expect(throws: TurnError.self) { try await agent.run("Where to?", Trip.self) }
    }

    @Test func theAnswerIsSeenWhileItStreams() async throws {
        let mock = try MockLlm(MockLlm.text(bergen))
        let typed = try agent(mock).withOutput(output: outputType(of: Trip.self))
        let partial = PartialValue()
        for try await event in typed.send("Where to?") {
            if case .partialOutput(let it) = event { try partial.apply(changes: it.changes) }
        }
        let trip = try decodeArguments(Trip.self, from: #require(partial.value()))
        #expect(trip == Trip(city: "Bergen", days: 3))
    }

    @Test func aTypeWithoutASchemaIsToldAtOnce() async throws {
        let agent = try agent(MockLlm(MockLlm.text("never")))
        await #expect(throws: SchemaError.self) { try await agent.run("Where to?", Opaque.self) }
    }
}
