import Testing

@testable import Stepwell

private struct Trip: Decodable, Equatable, Sendable {
    let city: String
    @Guide("At least one.", .minimum(1)) var days: UInt8

    init(city: String, days: UInt8) {
        self.city = city
        self.days = days
    }
}

private struct Opaque: Decodable {
    init(from decoder: any Decoder) throws {
        var items = try decoder.unkeyedContainer()
        _ = try items.nestedUnkeyedContainer()
    }
}

private let bergen = #"{\"city\":\"Bergen\",\"days\":3}"#

/// Answers that are of a type of the app's.
@Suite struct TypedOutputTests {
    @Test func theAnswerIsOfTheType() async throws {
        let mock = try MockLlm(MockLlm.text(bergen), MockLlm.text("[\(bergen)]"))
        let conversation = try Agent(model: mock.model).conversation()
        let trip = try await conversation.send("Where to?", generating: Trip.self)
        #expect(trip.output == Trip(city: "Bergen", days: 3))
        #expect(trip.text.contains("Bergen"))
        let trips = try await conversation.send("Others?", generating: [Trip].self).output
        #expect(trips == [Trip(city: "Bergen", days: 3)])
        #expect(conversation.messages.count == 4)
    }

    @Test func whatDoesNotFitGoesBackToTheModel() async throws {
        let misfit = #"{\"city\":\"Bergen\",\"days\":300}"#
        let mock = try MockLlm(MockLlm.text(misfit), MockLlm.text(bergen))
        let agent = Agent(model: mock.model)
        #expect(try await agent.run("Where to?", generating: Trip.self).output.days == 3)
    }

    @Test func whatNeverFitsIsAnErrorWithTheText() async throws {
        let mock = try MockLlm(MockLlm.text("Bergen"), MockLlm.text("Bergen!"), MockLlm.text("I said: Bergen"))
        let agent = Agent(model: mock.model)
        let error = await thrown(StepwellError.self) { try await agent.run("Where to?", generating: Trip.self) }
        #expect(error?.kind == .outputInvalid)
        #expect(error?.result?.text == "I said: Bergen")
    }

    @Test func theAnswerIsSeenWhileItStreams() async throws {
        let mock = try MockLlm(MockLlm.text(bergen))
        let turn = Agent(model: mock.model).stream("Where to?", generating: Trip.self)
        let partial = PartialValue()
        for try await event in turn {
            if case .partialOutput(let it) = event { try partial.apply(changes: it.changes) }
        }
        let trip = try decodeArguments(Trip.self, from: #require(partial.value()))
        #expect(try await turn.result().output == trip)
        #expect(trip == Trip(city: "Bergen", days: 3))
    }

    @Test func aTypeWithoutASchemaIsToldAtOnce() async throws {
        let agent = Agent(model: try MockLlm(MockLlm.text("never")).model)
        await #expect(throws: SchemaError.self) { try await agent.run("Where to?", generating: Opaque.self) }
    }
}
