import Foundation
import Observation
import Stepwell
import StepwellMachine

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A tool of the app: its definition and its code.
public struct ChatTool: Sendable {
    let definition: ToolDefinition
    let run: @Sendable (ToolInvocation) async throws -> String

    public init(_ definition: ToolDefinition, run: @escaping @Sendable (ToolInvocation) async throws -> String) {
        self.definition = definition
        self.run = run
    }
}

/// Something on the screen.
public struct Line: Codable, Equatable, Identifiable, Sendable {
    public enum Who: Codable, Sendable { case user, model, tool, notice }

    public let id: String
    public let who: Who
    public var text: String
}

/// A chat over the sans-IO API: the host of `RunMachine`, as its documentation describes it. The network is the app's
/// own, and the run outlives the app: after each step its snapshot is stored.
@MainActor
@Observable
public final class Chat {
    public private(set) var lines: [Line] = []
    public private(set) var isRunning = false
    /// What the turn asks the user, oldest first.
    public private(set) var questions: [Question] = []

    private let config: RunConfig
    private let tools: [String: ChatTool]
    private let store: ChatStore
    private let foreground: any Transport
    private let background: (any Transport)?
    private var machine: RunMachine?
    private var messages: JsonValue = []
    /// What came for an earlier process's run before `takeUp`: the system may deliver an answer as soon as the app starts.
    private var early: [(effect: String, event: StreamEvent)] = []
    private var isInBackground = false
    private var isOffline = false
    /// The answers to an agent's questions, which it wants together.
    private var answers: [ResumeEntry] = []
    /// The streams that only run while the app does.
    private var streams: Set<String> = []
    private var working: [String: Task<Void, Never>] = [:]
    private var timer: Task<Void, Never>?

    /// The configuration's tools are those of `tools`.
    public init(
        config: RunConfig, tools: [ChatTool], store: ChatStore, foreground: any Transport,
        background: (any Transport)? = nil
    ) {
        var config = config
        config.tools = tools.map(\.definition)
        // Each message is shown by itself.
        config.text.breakAfterTools = false
        self.config = config
        self.tools = Dictionary(tools.map { ($0.definition.name, $0) }, uniquingKeysWith: { $1 })
        self.store = store
        self.foreground = foreground
        self.background = background
        foreground.onEvent = { [weak self] effect, event in self?.streamed(effect, event) }
        background?.onEvent = { [weak self] effect, event in self?.streamed(effect, event) }
    }

    /// Takes up what an earlier process left; `pending` are the effects that the system still carries out for it. Those
    /// whose answer is here already are no longer among them, and are not asked for again either.
    public func takeUp(pending: Set<String>) {
        let early = self.early
        self.early = []
        let pending = pending.union(early.map(\.effect))
        guard let stored = store.load() else { return }
        lines = stored.lines
        do {
            messages = try JsonValue(parsing: stored.messages)
            guard let snapshot = stored.snapshot else { return }
            // With its request still under way the run goes on as if nothing had happened; else its host has died.
            let machine =
                try pending.isEmpty
                ? RunMachine.revive(snapshot: snapshot, config: config, now: .now)
                : RunMachine.restore(snapshot: snapshot, config: config)
            self.machine = machine
            isRunning = true
            carryOut(try machine.pollOutputs())
            if machine.state() == .interrupted { ask(machine.interrupts()) }
            tellDevice()
            for (effect, event) in early { streamed(effect, event) }
        } catch {
            notice(error.localizedDescription)
            store.save(ChatStore.Stored(messages: messages.text, lines: lines, snapshot: nil))
        }
    }

    /// Says something to the model.
    public func send(_ text: String) {
        guard !isRunning else { return }
        lines.append(Line(id: UUID().uuidString, who: .user, text: text))
        do {
            let machine = try RunMachine(config: config, threadId: "chat", history: messages)
            self.machine = machine
            isRunning = true
            tellDevice()
            carryOut(try machine.start(start: Start(runId: UUID().uuidString, text: text), now: .now))
        } catch {
            isRunning = false
            notice(error.localizedDescription)
        }
    }

    /// Stops the turn.
    public func cancel() {
        tell { try $0.cancel(now: $1) }
    }

    /// The app goes to the background: what is to be opened from here on, the system carries out.
    public func enteredBackground() {
        isInBackground = true
        tell { try $0.enteredBackground(now: $1) }
    }

    /// The seconds that the system granted are over: streams that need the app break off.
    public func ranOutOfTime() {
        for effect in streams {
            foreground.close(effect)
            streams.remove(effect)
            tell { try $0.lost(effect: effect, message: "the app was suspended", now: $1) }
        }
        save()
    }

    /// The app is in the foreground again.
    public func enteredForeground() {
        isInBackground = false
        tell { try $0.enteredForeground(now: $1) }
    }

    /// The phone has no network. What that does, `RunConfig.device` says.
    public func networkLost() {
        isOffline = true
        tell { try $0.networkLost(now: $1) }
    }

    /// The phone has a network, or another one.
    public func networkAvailable() {
        isOffline = false
        tell { try $0.networkAvailable(now: $1) }
    }

    /// A new run knows nothing of the phone.
    private func tellDevice() {
        if isInBackground { tell { try $0.enteredBackground(now: $1) } }
        if isOffline { tell { try $0.networkLost(now: $1) } }
    }

    /// Answers one of `questions`; one that is open no more is left alone.
    public func answer(_ question: Question, _ answer: Answer) {
        guard let index = questions.firstIndex(where: { $0.id == question.id }) else { return }
        questions.remove(at: index)
        switch question {
        case .approval(let effect, _):
            switch answer {
            case .approved: tell { try $0.approve(effect: effect, now: $1) }
            case .denied(let reason): tell { try $0.deny(effect: effect, reason: reason, now: $1) }
            case .said, .dismissed: tell { try $0.deny(effect: effect, reason: nil, now: $1) }
            }
        case .fromAgent(let interrupt):
            answers.append(interrupt.answered(with: answer))
            if questions.contains(where: \.isFromAgent) { return }
            let answers = self.answers
            self.answers = []
            tell { try $0.resume(answers: answers, now: $1) }
        }
    }

    private func ask(_ interrupts: [Interrupt]) {
        answers = []
        questions = questions.filter { !$0.isFromAgent } + interrupts.map(Question.fromAgent)
    }

    private func tell(_ input: (RunMachine, Date) throws -> Outputs) {
        guard let machine, isRunning else { return }
        do {
            carryOut(try input(machine, .now))
        } catch {
            notice(error.localizedDescription)
        }
    }

    private func carryOut(_ outputs: Outputs) {
        for event in outputs.events { show(event) }
        for effect in outputs.effects { begin(effect) }
        timer?.cancel()
        timer = outputs.wakeAt.map { wake in
            Task { [weak self] in
                try? await Task.sleep(for: .seconds(max(0, wake.timeIntervalSinceNow)))
                if !Task.isCancelled { self?.tell { try $0.timeout(now: $1) } }
            }
        }
        // Pieces of text need no store: a stream that is cut off begins again, or is resumed. What is asked does.
        if !outputs.effects.isEmpty || !isRunning || !questions.isEmpty { save() }
    }

    private func save() {
        let snapshot = isRunning ? try? machine?.snapshot() : nil
        store.save(ChatStore.Stored(messages: messages.text, lines: lines, snapshot: snapshot))
    }

    private func begin(_ effect: Effect) {
        switch effect {
        case .openStream(let opening):
            let (id, request) = (opening.id, opening.request)
            guard let url = URL(string: request.url) else {
                return later { try $0.connectionFailed(effect: id, message: "the address is none", now: $1) }
            }
            var sent = URLRequest(url: url)
            sent.httpMethod = request.method
            sent.httpBody = request.body
            for header in request.headers { sent.setValue(header.value, forHTTPHeaderField: header.name) }
            if isInBackground, let background {
                background.open(id, sent)
            } else {
                streams.insert(id)
                foreground.open(id, sent)
            }
        case .closeStream(let closing):
            streams.remove(closing.id)
            foreground.close(closing.id)
            background?.close(closing.id)
        case .runTool(let call):
            let (id, invocation) = (call.id, call.invocation)
            working[id] = Task { [weak self, tool = tools[invocation.name]] in
                let result: Result<String, any Error>
                do {
                    guard let tool else { throw ToolError.Failed(reason: "there is no tool \(invocation.name)") }
                    result = .success(try await tool.run(invocation))
                } catch {
                    result = .failure(error)
                }
                self?.finished(id, result)
            }
        case .cancelTool(let call):
            working.removeValue(forKey: call.id)?.cancel()
            questions.removeAll { $0.id == call.id }
        case .askApproval(let call):
            questions.append(.approval(effect: call.id, call.invocation))
        // The tools here ask nothing while they run.
        case .askUser(let asking):
            later { try $0.decline(effect: asking.id, reason: "this app does not ask for tools", now: $1) }
        case .answerTool: break
        // The model here makes no answers in the background.
        case .cancelAnswer: break
        case .createRun(let run):
            later { try $0.runNotCreated(effect: run.id, message: "this app creates no runs", now: $1) }
        case .persist(let write):
            later { try $0.persistFailed(effect: write.id, message: "this app stores whole runs", now: $1) }
        case .decodeOutput(let answer):
            later { try $0.outputDecoded(effect: answer.id, now: $1) }
        case .authorize(let asked):
            later { try $0.notAuthorized(effect: asked.id, message: "the key of this app does not change", now: $1) }
        case .chooseModel(let choice):
            later { try $0.modelNotChosen(effect: choice.id, message: "this app has one model", now: $1) }
        case .runHook(let hook):
            later { try $0.hookAnswered(effect: hook.id, answer: .failed(.init(message: "this app has no hooks")), now: $1) }
        case .trimContext(let overflow):
            later { try $0.contextNotTrimmed(effect: overflow.id, message: "this app does not trim", now: $1) }
        }
    }

    /// After the outputs at hand are carried out.
    private func later(_ input: @escaping @MainActor (RunMachine, Date) throws -> Outputs) {
        Task { [weak self] in self?.tell(input) }
    }

    private func finished(_ id: String, _ result: Result<String, any Error>) {
        guard working.removeValue(forKey: id) != nil else { return }
        switch result {
        case .success(let content):
            tell { try $0.toolFinished(effect: id, content: content, now: $1) }
        case .failure(let error):
            tell { try $0.toolFailed(effect: id, message: "\(error)", now: $1) }
        }
    }

    /// A refusal's head, until its body is there.
    private var refusals: [String: (status: UInt16, retryAfter: Duration?, body: Data)] = [:]

    private func streamed(_ effect: String, _ event: StreamEvent) {
        guard machine != nil else { return early.append((effect, event)) }
        switch event {
        case .opened(let status, let contentType, let retryAfter):
            if (200..<300).contains(status) {
                tell { try $0.opened(effect: effect, contentType: contentType, now: $1) }
            } else {
                refusals[effect] = (UInt16(clamping: status), retryAfter, Data())
            }
        case .bytes(let bytes):
            if refusals[effect] != nil {
                refusals[effect]?.body.append(bytes.prefix(64 * 1024))
            } else {
                tell { try $0.receive(effect: effect, bytes: bytes, now: $1) }
            }
        case .ended:
            streams.remove(effect)
            if let refusal = refusals.removeValue(forKey: effect) {
                tell {
                    try $0.refused(
                        effect: effect, status: refusal.status, body: refusal.body, now: $1,
                        retryAfter: refusal.retryAfter)
                }
            } else {
                tell { try $0.ended(effect: effect, now: $1) }
            }
        case .failed(let message):
            streams.remove(effect)
            refusals[effect] = nil
            tell {
                $0.state() == .streaming
                    ? try $0.lost(effect: effect, message: message, now: $1)
                    : try $0.connectionFailed(effect: effect, message: message, now: $1)
            }
        }
    }

    private func show(_ event: Event) {
        switch event {
        case .textMessageContent(let piece):
            if let index = lines.lastIndex(where: { $0.id == piece.messageId }) {
                lines[index].text += piece.delta
            } else {
                lines.append(Line(id: piece.messageId, who: .model, text: piece.delta))
            }
        case .toolCallUpdate(let call):
            let text =
                switch call.result {
                case .finished(let result): "\(call.name): \(result.content)"
                case .failed(let failure): "\(call.name) failed: \(failure.message)"
                case nil: "\(call.name): \(call.status)"
                }
            if let index = lines.lastIndex(where: { $0.id == call.toolCallId }) {
                lines[index].text = text
            } else {
                lines.append(Line(id: call.toolCallId, who: .tool, text: text))
            }
        case .interrupted(let interrupted):
            ask(interrupted.interrupts)
        case .waitingForNetwork:
            notice("There is no network.")
        case .retrying(let retrying):
            notice(retrying.reason)
        case .completed(let completed):
            isRunning = false
            questions = []
            messages = machine?.messages() ?? messages
            if let problem = completed.outcome.problem, problem.kind != .cancelled { notice(problem.message) }
        default:
            break
        }
    }

    private func notice(_ text: String) {
        lines.append(Line(id: UUID().uuidString, who: .notice, text: text))
    }
}
