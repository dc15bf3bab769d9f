import Foundation
import Observation
import StepwellBindings

/// A conversation as a chat screen shows it; see `ChatSessionWith`.
@available(iOS 17, macOS 14, *)
public typealias ChatSession = ChatSessionWith<Void>

/// A conversation as a chat screen shows it: `state` is what the screen shows, and the methods are what the user does.
/// SwiftUI shows each change of the state.
///
///     struct ChatView: View {
///         let chat: ChatSession
///
///         var body: some View {
///             List(chat.state.messages) { MessageView(message: $0) }
///         }
///     }
///
/// One session drives a conversation. What waits for the user is in `state.pending`: the agent of a chat has no `approver`
/// and no `answerer`, which would answer first. What an AG-UI agent asks is in `state.interrupts`.
@available(iOS 17, macOS 14, *)
@MainActor
@Observable
public final class ChatSessionWith<Deps: Sendable> {
    /// The contents of the screen.
    public private(set) var state: ChatState
    /// The conversation.
    @ObservationIgnored public let conversation: ConversationWith<Deps>
    /// The options of every message.
    @ObservationIgnored public var options: RunOptions
    /// What the tools are given.
    @ObservationIgnored let deps: Deps
    @ObservationIgnored private var reducer: ChatReducer
    @ObservationIgnored private(set) var turn: Turn<String>?
    /// The numbers of the messages in `state`.
    @ObservationIgnored private var places: [String: Int] = [:]
    /// What the last message said, for `retry`: AG-UI's content.
    @ObservationIgnored private var said: JsonValue?
    @ObservationIgnored private var isLoaded = false
    /// What a turn waits for that this session does not follow.
    @ObservationIgnored private var elsewhere: [Pending] = []
    /// The answers to an AG-UI agent by its questions, until there are all of them.
    public internal(set) var answers: [String: ResumeEntry] = [:]

    /// The session of a conversation, which shows what was said in it so far.
    ///
    /// - Throws: `StepwellError` where the conversation cannot be read.
    public init(_ conversation: ConversationWith<Deps>, deps: Deps, options: RunOptions = RunOptions()) throws {
        self.conversation = conversation
        self.deps = deps
        self.options = options
        let reducer = try ChatReducer.fromMessages(messages: conversation.messages.json)
        self.reducer = reducer
        state = reducer.state()
        restart(reducer)
    }

    /// Whether a turn is under way.
    public var isBusy: Bool {
        switch state.status {
        case .ready, .error: false
        case .submitted, .streaming, .waitingForUser: true
        }
    }

    /// Loads the conversation from its store, once: its messages, its tools' cards, and what its turn waits for, as they were
    /// shown. Without a store nothing happens. `follow` shows how a turn that an earlier process left continues; a turn that
    /// is answered before that continues unseen.
    ///
    /// - Throws: `StepwellError` of the kind `.store` where the store cannot be read.
    public func load() async throws {
        guard !isLoaded, turn == nil else { return }
        isLoaded = true
        do {
            try await conversation.load()
            let turns = try await conversation.inner.storedTurns()
            guard turn == nil, !turns.isEmpty else { return }
            let reducer = try ChatReducer(turns: turns)
            elsewhere = reducer.state().pending
            restart(reducer)
        } catch {
            isLoaded = false
            throw error
        }
    }

    /// Sends a message, and waits for the end of the turn. Returns the turn's result; nil if the turn failed or was
    /// cancelled: the state then has the `problem`. Cancelling the task cancels the turn.
    ///
    /// - Throws: `StepwellError`: `.busy` while another turn is under way (`steer` sends a message during a turn), `.misuse`
    ///   where no turn can begin.
    @discardableResult
    public func send(_ prompt: String, _ parts: ContentPart...) async throws -> TurnResult<String>? {
        try refuseWhileBusy()
        let content = contentOf(prompt, parts)
        said = content
        return try await begin(content)
    }

    /// Sends the last message again after a failed turn. The part of the answer that arrived stays; a message that was not
    /// answered at all is there once.
    ///
    /// - Throws: as `send`.
    @discardableResult
    public func retry() async throws -> TurnResult<String>? {
        try refuseWhileBusy()
        let messages = conversation.messages
        if case .user? = messages.last { return try await begin(nil) }
        let asked = messages.last { if case .user = $0 { true } else { false } }
        guard let content = said ?? asked.flatMap(contentOf(message:)) else {
            throw StepwellError.misuse("there is no message to send again", advice: "call `send` first")
        }
        return try await begin(content)
    }

    /// Shows a turn of the conversation that was not begun here, one that `Agent.recover` returned, and waits for its end.
    ///
    /// - Throws: `StepwellError`, of the kind `.busy` while another turn is under way.
    @discardableResult
    public func follow(_ turn: Turn<String>) async throws -> TurnResult<String>? {
        try refuseWhileBusy()
        self.turn = turn
        elsewhere = []
        do {
            try await turn.begun()
            let messages = try turn.revivedFrom() ?? conversation.messages
            restart(try ChatReducer.fromMessages(messages: messages.json))
            try reducer.begin(turn: turn.stored()?.turn ?? randomId(), message: nil, now: .now)
        } catch {
            self.turn = nil
            throw error
        }
        return await show(turn)
    }

    /// Stops the turn under way, if there is one. What has arrived stays.
    public func cancel() {
        turn?.cancel()
    }

    /// Sends a message during the turn, without stopping it. It is shown once the turn takes it.
    ///
    /// - Throws: `StepwellError` where no turn is under way.
    public func steer(_ prompt: String, _ parts: ContentPart...) async throws {
        let turn = try underWay()
        let message = messageOf(randomId(), contentOf(prompt, parts))
        try reducer.steer(message: message)
        try await turn.steer(message: message)
    }

    private func refuseWhileBusy() throws {
        if turn != nil {
            throw StepwellError(
                Problem(
                    kind: .busy, message: "a turn of this chat is under way",
                    advice: "wait for it, call `cancel`, or send the message by `steer`", status: nil, model: nil,
                    retryable: true))
        }
    }

    /// Begins a turn with a message; without one, it answers the last message of the conversation.
    private func begin(_ content: JsonValue?) async throws -> TurnResult<String>? {
        let id = randomId()
        let message = content.map { messageOf("\(id)-user", $0) }
        let turn = conversation.begin(
            Start(runId: id, message: message, options: options.made), tools: options.tools, deps: deps)
        // Throws why it cannot begin.
        _ = try turn.drive.turn
        try reducer.begin(turn: id, message: message, now: .now)
        self.turn = turn
        elsewhere = []
        return await show(turn)
    }

    /// Shows the events of a turn to its end.
    private func show(_ turn: Turn<String>) async -> TurnResult<String>? {
        changed()
        defer {
            self.turn = nil
            answers = [:]
            changed()
        }
        do {
            try turn.drive.take()
            while true {
                let events = try await turn.drive.nextBatch()
                if events.isEmpty { break }
                try reducer.apply(events: events, now: .now)
                changed()
            }
            let result = try await turn.result()
            reducer.setUsage(usage: result.usage)
            return result
        } catch {
            if let result = (error as? StepwellError)?.result {
                reducer.setUsage(usage: result.usage)
                reducer.end(status: status(of: result.outcome), outcome: result.outcome)
            } else {
                turn.cancel()
                reducer.end(status: .cancelled, outcome: nil)
            }
            return nil
        }
    }

    /// Shows another conversation.
    private func restart(_ reducer: ChatReducer) {
        self.reducer = reducer
        places = [:]
        state.messages = []
        changed()
    }

    /// Takes what has changed, so that the cost of a change does not grow with the conversation.
    private func changed() {
        guard let update = reducer.takeUpdate() else { return }
        var messages = state.messages
        // The state has no second copy of them meanwhile.
        state.messages = []
        for message in update.messages {
            if let place = places[message.id] {
                messages[place] = message
            } else {
                places[message.id] = messages.count
                messages.append(message)
            }
        }
        if let order = update.order {
            messages = order.compactMap { id in places[id].map { messages[$0] } }
            places = Dictionary(uniqueKeysWithValues: messages.enumerated().map { ($1.id, $0) })
        }
        state = ChatState(
            revision: update.revision, status: update.status, connection: update.connection, problem: update.problem,
            pending: update.pending, interrupts: update.interrupts, usage: update.usage,
            omittedMessages: update.omittedMessages, compaction: update.compaction, messages: messages)
        if turn == nil { showElsewhere() }
    }

    /// Notes that what waited under the id in a turn that is not followed has its reply.
    func settle(_ id: String) {
        elsewhere.removeAll { $0.id == id }
        showElsewhere()
    }

    private func showElsewhere() {
        state.pending = elsewhere
        if elsewhere.contains(where: { $0.kind != .result }) {
            state.status = .waitingForUser
        } else if state.status == .waitingForUser {
            state.status = .ready
        }
    }
}

@available(iOS 17, macOS 14, *)
extension ChatSessionWith where Deps == Void {
    /// The session of a conversation, which shows what was said in it so far.
    ///
    /// - Throws: `StepwellError` where the conversation cannot be read.
    public convenience init(_ conversation: Conversation, options: RunOptions = RunOptions()) throws {
        try self.init(conversation, deps: (), options: options)
    }
}

extension ChatMessage: Identifiable {}
extension Pending: Identifiable {}
extension Interrupt: Identifiable {}

private func status(of outcome: Outcome) -> TurnStatus {
    switch outcome {
    case .success: .complete
    case .cancelled: .cancelled
    default: .failed
    }
}
