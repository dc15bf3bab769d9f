import Foundation
import Testing

@testable import Stepwell

/// Agents that ask another model when theirs has failed, and that choose the model of each hop.
@Suite struct FallbackTests {
    private static let once = RetryPolicy(attempts: 1)
    private static let outOfOrder = #"{"status":503,"error":"Out of order"}"#
    private static let wrongKey = #"{"status":401,"error":"Incorrect API key provided"}"#

    @Test("another model answers, and is asked first for a while")
    func answers() async throws {
        let first = try MockLlm(Self.outOfOrder)
        let second = try MockLlm(MockLlm.text("I can."), MockLlm.text("Again."))
        func agent() -> Agent {
            Agent(model: first.named("first"), fallback: [second.named("second")], retry: Self.once)
        }
        let turn = agent().stream("Hello")
        var changes: [Event.ModelChanged] = []
        for try await update in turn {
            if case .modelChanged(let change) = update { changes.append(change) }
        }
        #expect(try await turn.result().text == "I can.")
        let change = try #require(changes.first)
        #expect(changes.count == 1)
        #expect(change.previous.model == "first" && change.model.model == "second")
        #expect(change.after == .serverError)
        // Another agent of the process asks the second at once.
        #expect(try await agent().run("Hello").text == "Again.")
        #expect(try await first.requests().count == 1)
    }

    @Test("a model that does not rest is asked again")
    func withoutRest() async throws {
        let first = try MockLlm(Self.outOfOrder, MockLlm.text("Here I am."))
        let second = try MockLlm(MockLlm.text("I can."))
        let agent = Agent(
            model: first.named("first"), fallback: [second.named("second")], modelRest: .zero, retry: Self.once)
        #expect(try await agent.run("Hello").text == "I can.")
        #expect(try await agent.run("Hello").text == "Here I am.")
    }

    @Test("an error names the model that failed last")
    func failedModel() async throws {
        let first = try MockLlm(Self.outOfOrder)
        let second = try MockLlm(Self.wrongKey)
        let other = Model.groq("second", apiKey: "wrong", baseUrl: second.baseUrl)
        let agent = Agent(model: first.named("first"), fallback: [other], retry: Self.once)
        let error = await thrown(StepwellError.self) { try await agent.run("Hello") }
        #expect(error?.kind == .authentication && error?.status == 401)
        #expect(error?.provider == "groq" && error?.model == "second")
        #expect(error?.problem.model == ModelName(provider: "groq", model: "second"))
    }

    @Test("only the failures that the app names count")
    func kinds() async throws {
        let first = try MockLlm(Self.wrongKey, Self.wrongKey)
        let second = try MockLlm(MockLlm.text("I can."))
        let models = (first.named("first"), second.named("second"))
        let usual = Agent(model: models.0, fallback: [models.1], retry: Self.once)
        let error = await thrown(StepwellError.self) { try await usual.run("Hello") }
        #expect(error?.kind == .authentication)
        let named = Agent(model: models.0, fallback: [models.1], fallbackAfter: [.authentication])
        #expect(try await named.run("Hello").text == "I can.")
    }

    @Test("after text that was shown another model is asked only if the app says so", arguments: [false, true])
    func afterText(isAllowed: Bool) async throws {
        let first = try MockLlm(#"{"steps":[{"text":"I th"},"cut"]}"#)
        let second = try MockLlm(MockLlm.text("I can."))
        let agent = Agent(
            model: first.named("first"), fallback: [second.named("second")], fallbackAfterText: isAllowed,
            retry: Self.once)
        if isAllowed {
            #expect(try await agent.run("Hello").text == "I can.")
        } else {
            let error = await thrown(StepwellError.self) { try await agent.run("Hello") }
            #expect(error?.kind == .connection)
        }
        #expect(try await second.requests().count == (isAllowed ? 1 : 0))
    }

    @Test("the app chooses the model of each hop")
    func chooses() async throws {
        let large = try MockLlm(MockLlm.call("secret", "{}"))
        let small = try MockLlm(MockLlm.text("It is 42."))
        let asked = Noted<[String]>()
        let agent = Agent(
            model: large.named("large"), fallback: [small.named("small")],
            modelFor: { hop in
                asked.add(hop.tools)
                await Task.yield()
                return hop.tools.isEmpty ? 0 : try #require(hop.number(of: "small"))
            },
            tools: [AgentTool("secret", "The secret number.") { _ in "42" }])
        #expect(try await agent.run("Hello").text == "It is 42.")
        #expect(asked.all == [[], ["secret"]])
    }

    @Test("a choice that is none leaves the model as it is", arguments: [7, -1, nil])
    func choosesNone(chosen: Int?) async throws {
        let first = try MockLlm(MockLlm.text("Here I am."))
        let second = try MockLlm(MockLlm.text("I can."))
        let agent = Agent(
            model: first.named("first"), fallback: [second.named("second")],
            modelFor: { hop in
                guard let chosen else { throw TestFault(description: "there is none") }
                #expect(hop.number(of: "none of them") == nil)
                return chosen
            })
        #expect(try await agent.run("Hello").text == "Here I am.")
    }

    @Test("each model has a key of its own")
    func keys() async throws {
        let first = try MockLlm(Self.outOfOrder)
        let second = try MockLlm(MockLlm.text("I can."))
        let asked = Noted<String>()
        let agent = Agent(
            model: first.named("first"), fallback: [second.named("second")],
            credentials: { request in
                asked.add(request.model.model)
                return Authorization(key: "key of \(request.model.model)")
            }, retry: Self.once)
        #expect(try await agent.run("Hello").text == "I can.")
        #expect(asked.all == ["first", "second"])
        #expect(try await first.requests().map { $0.headers["authorization"] } == ["Bearer key of first"])
        #expect(try await second.requests().map { $0.headers["authorization"] } == ["Bearer key of second"])
    }

    @Test("without a function for the keys each model sends its `apiKey`")
    func apiKeys() async throws {
        let first = try MockLlm(Self.outOfOrder)
        let second = try MockLlm(MockLlm.text("I can."))
        var other = second.named("second")
        (other.apiKey, other.headers) = ("own", ["x-team": "blue"])
        let agent = Agent(model: first.named("first"), fallback: [other], retry: Self.once)
        #expect(try await agent.run("Hello").text == "I can.")
        let sent = try #require(try await second.requests().first)
        #expect(sent.headers["authorization"] == "Bearer own" && sent.headers["x-team"] == "blue")
        #expect(try await first.requests().map { $0.headers["authorization"] } == [nil])
    }

    @Test("models of different custom providers take each other's place")
    func customProviders() async throws {
        let first = try MockLlm(Self.outOfOrder)
        let second = try MockLlm(MockLlm.text("I can."))
        func model(_ name: String, _ mock: MockLlm) throws -> Model {
            let provider = ["name": name, "dialect": "openai-chat", "base_url": mock.baseUrl]
            return Model(provider: name, name: "m", customProviders: try JsonValue(encoding: ["providers": [provider]]))
        }
        let agent = Agent(model: try model("one", first), fallback: [try model("other", second)], retry: Self.once)
        #expect(try await agent.run("Hello").text == "I can.")
    }

    @Test("the same models may follow another one")
    func anotherModel() async throws {
        let first = try MockLlm(Self.outOfOrder)
        let second = try MockLlm(MockLlm.text("I can."))
        let agent = Agent(model: "ollama:m", fallback: [second.named("second")], retry: Self.once)
        #expect(try await agent.withModel(first.named("first")).run("Hello").text == "I can.")
    }

    @Test("an agent of others cannot take a model's place")
    func agUi() async throws {
        let agent = Agent(model: "ollama:m", fallback: [.agUi("http://localhost/agent")])
        let error = await thrown(StepwellError.self) { try await agent.run("Hello") }
        #expect(error?.kind == .misuse)
        #expect(error?.message.contains("AG-UI agent") == true)
    }

    @Test("a fallback without a key is refused before anything is sent")
    func noKey() async throws {
        let first = try MockLlm(MockLlm.text("Here I am."))
        let agent = Agent(model: first.named("first"), fallback: [Model("m")])
        let error = await thrown(StepwellError.self) { try await agent.run("Hello") }
        #expect(error?.kind == .misuse)
        #expect(try await first.requests().isEmpty)
    }
}

/// What closures of a test have seen.
final class Noted<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var values: [Value] = []

    var all: [Value] { lock.withLock { values } }

    func add(_ value: Value) { lock.withLock { values.append(value) } }
}
