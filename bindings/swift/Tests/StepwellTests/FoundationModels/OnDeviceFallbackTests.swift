// Against the declarations of our own, which the tests can script.
#if canImport(FoundationModelsStandIn)

import Foundation
import FoundationModelsStandIn
import Stepwell
import StepwellFoundationModels
import Testing

private let once = RetryPolicy(attempts: 1)

/// A model of the device that says this.
private func saying(_ text: String) -> SystemLanguageModel {
    SystemLanguageModel { _, say in say(text) }
}

@Test("the device's model answers when a provider's has failed")
func theDeviceAnswers() async throws {
    let mock = try MockLlm(#"{"status":503,"error":"Out of order"}"#)
    let agent = Agent(
        model: mock.named("far"), fallback: [.onDevice(saying("Oslo."))], fallbackAfter: [.serverError], retry: once)
    let turn = agent.stream("Norway's capital?")
    var changes: [String] = []
    for try await update in turn {
        if case .modelChanged(let change) = update { changes.append("\(change.previous.model) to \(change.model.model)") }
    }
    #expect(try await turn.result().text == "Oslo.")
    #expect(changes == ["far to on-device"])
    #expect(try await mock.requests().count == 1)
}

@Test("a provider's model answers where the device has none, and alone is asked for a key")
func theDeviceHasNone() async throws {
    let mock = try MockLlm(MockLlm.text("Oslo."))
    let asked = Noted<String>()
    let agent = Agent(
        model: .onDevice(.default), fallback: [mock.named("far")], fallbackAfter: [.notFound], modelRest: .zero,
        credentials: { request in
            asked.add(request.model.model)
            return Authorization(key: "a key")
        }, retry: once)
    #expect(try await agent.run("Norway's capital?").text == "Oslo.")
    #expect(asked.all == ["far"])
    #expect(try await mock.requests().map { $0.headers["authorization"] } == ["Bearer a key"])
}

@Test("the requests to other models go through the app's client")
func theClientOfTheOthers() async throws {
    let mock = try MockLlm(MockLlm.text("Oslo."))
    let urls = Noted<String>()
    let agent = Agent(
        model: mock.named("far"), fallback: [.onDevice(saying("Bergen."))], client: try Noting(urls))
    #expect(try await agent.run("Norway's capital?").text == "Oslo.")
    #expect(urls.all == ["\(mock.baseUrl)/chat/completions"])
}

@Test("the library's own connections cannot send beside the device's model, nor two of its models answer")
func refusedBesideTheDevice() async throws {
    let device = Model.onDevice(saying("Oslo."))
    let agents = [
        Agent(model: "ollama:m", fallback: [device], client: BuiltInTransport()),
        Agent(model: device, fallback: [.onDevice(saying("Bergen."))]),
    ]
    for agent in agents {
        let error = await thrown(StepwellError.self) { try await agent.run("Norway's capital?") }
        #expect(error?.kind == .misuse)
    }
    // Where the device's model alone answers, the client sends nothing.
    #expect(try await Agent(model: device, fallback: [device], client: BuiltInTransport()).run("Where?").text == "Oslo.")
}

/// Notes what goes through another transport.
private final class Noting: HttpTransport {
    private let inner: URLSessionTransport
    private let urls: Noted<String>

    init(_ urls: Noted<String>) throws {
        inner = try URLSessionTransport()
        self.urls = urls
    }

    func send(request: HttpRequest, answer: HttpAnswer) async throws {
        urls.add(request.url)
        try await inner.send(request: request, answer: answer)
    }
}

#endif
