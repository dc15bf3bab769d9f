import Foundation
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

private struct Various: Decodable, Sendable {
    struct Point: Decodable, Sendable { let x: Int }
    enum Kind: String, Decodable, CaseIterable { case green, red }

    @Guide("Who.") var name: String
    let count: Int
    let other: Int
    let at: Point
    let list: [Point]
    let kind: Kind
    let note: String?
    let when: Date
    let flag: Bool?
    var sum: Int { count + other }

    enum CodingKeys: String, CodingKey {
        case flag, when, note, kind, list, at, other, count
        case name = "the_name"
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
        let mock = try MockLlm(MockLlm.stall(#"{\"city\":\"Ber"#))
        for try await trip in Agent(model: mock.model).stream("Where to?", generating: Trip.self).partials {
            #expect(trip.days == nil)
            if trip.city == "Ber" { break }
        }
    }

    @Test func theLastPartialIsTheAnswer() async throws {
        let mock = try MockLlm(MockLlm.text(bergen))
        let turn = Agent(model: mock.model).stream("Where to?", generating: Trip.self)
        var last: Partial<Trip>?
        for try await trip in turn.partials { last = trip }
        #expect(last?.city == "Bergen" && last?.days == 3)
        #expect(try await turn.result().output == Trip(city: "Bergen", days: 3))
    }

    @Test func eachPropertyIsFoundByItsPath() throws {
        let json = #"{"the_name":"it","count":2,"other":5,"at":{"x":1},"list":[{"x":1},{"y":2}],"kind":"red","note":null,"when":"20"}"#
        let partial = Partial(json: try JsonValue(parsing: json), properties: PropertyNames<Various>())
        #expect(partial.name == "it" && partial.count == 2 && partial.other == 5)
        #expect(partial.at?.x == 1 && partial.kind == .red)
        // Of a list what is complete, of others nothing before they are.
        #expect(partial.list?.map(\.x) == [1])
        #expect(partial.note == nil && partial.when == nil && partial.flag == nil && partial.sum == nil)
    }

    @Test func aTypeWithoutASchemaIsToldAtOnce() async throws {
        let agent = Agent(model: try MockLlm(MockLlm.text("never")).model)
        await #expect(throws: SchemaError.self) { try await agent.run("Where to?", generating: Opaque.self) }
    }
}
