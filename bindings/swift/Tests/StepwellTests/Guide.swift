// What `docs/swift.md` shows beside its first program, to be compiled; the suite `docs` compares.
import Foundation
import Stepwell

enum Shown {
    enum Unit: String, Decodable, CaseIterable { case celsius, fahrenheit }

    struct Place: Decodable {
        @Guide("As it is called there.") var city: String
        @Guide("Celsius if left out.") var unit: Unit?
    }

    enum Shape: Decodable {
        case circle(radius: Double)
        case box(width: Double, height: Double)
        enum CodingKeys: CodingKey, CaseIterable { case circle, box }
    }

    struct Forecasts: Sendable {
        func today(in city: String) async throws -> String { "Rain in \(city)" }
    }

    struct Weather: Tool {
        let description = "The weather of a city."
        let forecasts: Forecasts

        func call(arguments: Place) async throws -> String {
            try await forecasts.today(in: arguments.city)
        }
    }

    struct Account: Decodable { let number: String }
    struct Bank: Sendable {
        func balance(of account: String) async throws -> Double { 0 }
    }

    struct Balance: ToolWith {
        let description = "The balance of an account."

        func call(arguments: Account, context: ToolContextWith<Bank>) async throws -> Double {
            try await context.deps.balance(of: arguments.number)
        }
    }

    static func banking(bank: Bank) async throws {
        let agent = AgentWith<Bank>(model: .openAI("gpt-4o-mini"), tools: [Balance()])
        print(try await agent.run("How much do I have?", deps: bank).text)
    }

    struct Trip: Decodable { let city: String }

    static func streaming(agent: Agent, show: (String) -> Void) async throws {
        for try await trip in agent.stream("Where to?", generating: Trip.self).partials {
            show(trip.city ?? "…")
        }
    }

    static func weather(forecast: @escaping @Sendable (String, Unit) async throws -> String) throws -> AgentTool {
        let weather = try AgentTool("get_weather", "The weather of a city.") { (place: Place) in
            try await forecast(place.city, place.unit ?? .celsius)
        }
        return weather
    }

    static func asking(mail: AgentTool) -> Agent {
        let agent = Agent(
            model: .openAI("gpt-4o-mini"), tools: [mail],
            approver: { call in await confirm("Run \(call.name)?") ? .granted : .denied(reason: "not now") })
        return agent
    }

    struct Parcel: Decodable { let name: String }

    static func shipping(city: String) throws -> Agent {
        let speeds: JsonValue = ["enum": ["today", "this week"]]
        let ship = try AgentTool("ship", "Ships a parcel.") { (parcel: Parcel, context: ToolContext) in
            context.report(fraction: 0.5, message: "\(parcel.name) is packed")
            let answer = try await context.ask(question: Question(message: "How fast?", schema: speeds))
            guard case .given(let speed) = answer else { return "\(parcel.name) stays in \(city)" }
            return "\(parcel.name) leaves \(city): \(speed)"
        }
        let agent = Agent(
            model: .openAI("gpt-4o-mini"), tools: [ship],
            answerer: { _, question in
                await confirm(question.message) ? .given(value: "today") : .declined(reason: "not now")
            })
        return agent
    }

    static func telling(
        agent: Agent, text: String, show: (String) -> Void, offerAgain: (String) -> Void
    ) async {
        do {
            show(try await agent.run(text).text)
        } catch let error as StepwellError where error.retryable {
            offerAgain(error.localizedDescription)
        } catch is CancellationError {
            // The user has left the screen.
        } catch {
            show(error.localizedDescription)
        }
    }

    /// What shows questions, in any app.
    protocol Screen: Sendable {
        func ask(_ id: UUID, _ question: String, _ answer: CheckedContinuation<Bool, Never>)
        func withdraw(_ id: UUID)
    }

    struct Asking {
        let screen: any Screen

        func confirm(_ question: String) async -> Bool {
            let id = UUID()
            return await withTaskCancellationHandler {
                await withCheckedContinuation { screen.ask(id, question, $0) }
            } onCancel: {
                screen.withdraw(id)
            }
        }
    }

    static func watching(turn: Turn<String>, show: (String) -> Void, ask: (Pending) -> Void) async throws {
        for try await update in turn {
            switch update {
            case .text(let text): show(text.delta)
            case .pending(let pending): pending.forEach(ask)
            default: break
            }
        }
    }

    static func replying(agent: Agent, store: SessionStore) async throws {
        let garden = try agent.conversation(id: "garden", store: store)
        for waiting in try await store.pending("garden") where waiting.kind == .approval {
            if await confirm("Run \(waiting.tool)?") {
                try await garden.approve(waiting.id)
            } else {
                try await garden.deny(waiting.id, reason: "not now")
            }
        }
    }

    @available(iOS 17, macOS 14, *)
    @MainActor
    static func chatting(agent: Agent, store: SessionStore) async throws {
        let chat = try ChatSession(agent.conversation(id: "chat", store: store))
        try await chat.load()
        for recovered in try await agent.recover(store: store) {
            if let turn = recovered.turn { try await chat.follow(turn) }
        }
    }

    static func keeping(file: String, weather: AgentTool, show: (Update) -> Void) async throws {
        let store = try await SessionStore.openSqlite(path: file)
        let agent = Agent(model: .openAI("gpt-4o-mini"), tools: [weather], store: store)
        for recovered in try await agent.recover() {
            if let turn = recovered.turn { for try await update in turn { show(update) } }
        }
        let garden = try agent.conversation(id: "garden")
        print(try await garden.send("Will it rain?").text)
    }

    static func fallingBack() -> Agent {
        let agent = Agent(
            model: .openAI("gpt-4o-mini"), fallback: [.anthropic("claude-haiku-4-5"), .ollama("llama3.3")],
            fallbackAfter: [.overloaded, .rateLimit, .serverError, .connection, .timeout, .contextTooLong])
        return agent
    }

    static func compacting() -> Agent {
        let agent = Agent(
            model: .openAI("gpt-5"), summaryModel: .openAI("gpt-5-mini"),
            compaction: CompactionPolicy(ways: [.dropResults(keep: 5), .summary()]))
        return agent
    }

    static func whole(_ conversation: Conversation) async throws {
        let answer = try await conversation.send("Sure?", options: RunOptions(wholeHistory: true))
        print(answer.text)
    }

    static func choosing(search: AgentTool) -> Agent {
        let agent = Agent(
            model: .openAI("gpt-5"), fallback: [.openAI("gpt-5-mini")],
            // The small model reads the results of searches, the large one does all else.
            modelFor: { hop in hop.tools.contains("search") ? 1 : 0 },
            tools: [search])
        return agent
    }

    static func serving(users: [String]) async throws {
        let agent = Agent(model: .openAI("gpt-4o-mini"), instructions: "Be kind.")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in users {
                group.addTask { print(try await agent.run("Greet \(user)", options: RunOptions(user: user)).text) }
            }
            try await group.waitForAll()
        }
    }
}

private func confirm(_ question: String) async -> Bool {
    !question.isEmpty
}
