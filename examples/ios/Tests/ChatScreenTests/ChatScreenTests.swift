import ChatScreen
import Foundation
import Stepwell
import Testing

/// Waits until something is so.
@MainActor
private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

private func newFile() -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString).sqlite")
}

private func text(_ message: ChatMessage) -> String {
    message.parts.map { if case .text(let it) = $0 { it.text } else { "" } }.joined()
}

/// What every language's first program is tried with, and where: `cargo xtask test swift-package` tells it.
private struct FirstContact: Decodable, Sendable, CustomTestStringConvertible {
    let `case`: String
    let baseUrl: String
    let answers: String?
    let says: String?

    var testDescription: String { `case` }

    static let all: [FirstContact] = {
        let told = ProcessInfo.processInfo.environment["STEPWELL_FIRST_CONTACT"] ?? "[]"
        do {
            return try JSONDecoder().decode([FirstContact].self, from: Data(told.utf8))
        } catch {
            fatalError("STEPWELL_FIRST_CONTACT: \(error)")
        }
    }()
}

@Test("what goes wrong is on the screen, and what was said is there again", arguments: FirstContact.all)
@MainActor
private func whatGoesWrong(_ contact: FirstContact) async throws {
    let (file, agent) = (
        newFile(),
        Agent(
            model: .openAICompatible("m", baseUrl: contact.baseUrl), retry: RetryPolicy(firstDelay: .zero))
    )
    let screen = ChatScreen(agent: agent)
    await screen.open(file)
    let chat = try #require(screen.chat)
    screen.begin { try await $0.send("Hello") }
    await until { !chat.state.messages.isEmpty && !chat.isBusy }
    #expect(screen.trouble == nil)
    if let answer = contact.answers {
        #expect(text(try #require(chat.state.messages.last)).contains(answer))
    } else {
        let problem = try #require(chat.state.problem)
        #expect("\(problem.message); \(problem.advice)".contains(contact.says ?? "nothing of the kind"))
    }

    let again = ChatScreen(agent: agent)
    await again.open(file)
    let shown = try #require(again.chat?.state.messages)
    #expect(shown.first.map(text) == "Hello" && shown.count == chat.state.messages.count)
}

@Test("a file that cannot be opened is said")
@MainActor
func aFileThatCannotBeOpened() async {
    let screen = ChatScreen(agent: Agent(model: .openAICompatible("m", baseUrl: "http://localhost/v1")))
    await screen.open(URL(fileURLWithPath: "/nowhere/chat.sqlite"))
    #expect(screen.chat == nil && screen.trouble != nil)
}
