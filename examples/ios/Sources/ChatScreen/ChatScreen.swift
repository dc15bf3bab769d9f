import Foundation
import Observation
import Stepwell

/// What the screen shows: the chat once its file is open, and what went wrong beside its turns.
@MainActor
@Observable
public final class ChatScreen {
    public private(set) var chat: ChatSession?
    public var trouble: String?
    private let agent: Agent

    public init(agent: Agent) {
        self.agent = agent
    }

    /// Opens the chat as it was left. A turn that ended with the app's process continues where it stopped.
    public func open(_ file: URL) async {
        await attempt {
            let store = try await SessionStore.openSqlite(path: file.path)
            let chat = try ChatSession(self.agent.conversation(id: "chat", store: store))
            try await chat.load()
            self.chat = chat
            for recovered in try await self.agent.recover(store: store) {
                if let turn = recovered.turn { try await chat.follow(turn) }
            }
        }
    }

    /// Does what the user wants, in a task of its own.
    public func begin(_ action: @escaping @MainActor (ChatSession) async throws -> Void) {
        guard let chat else { return }
        Task { await attempt { try await action(chat) } }
    }

    /// Reports whether the user sees the app.
    public func shows(_ isShown: Bool) {
        if isShown { agent.enteredForeground() } else { agent.enteredBackground() }
    }

    /// Reports whether the phone has a network.
    public func reaches(_ isOnline: Bool) {
        if isOnline { agent.networkAvailable() } else { agent.networkLost() }
    }

    private func attempt(_ work: @MainActor () async throws -> Void) async {
        do {
            try await work()
        } catch {
            trouble = error.localizedDescription
        }
    }
}
