// What `docs/swift.md` shows beside its first program, to be compiled; the suite `docs` compares.
import Foundation
import Stepwell

enum Guide {
    enum Unit: String, Decodable, CaseIterable { case celsius, fahrenheit }

    struct Place: ToolArguments {
        let city: String
        let unit: Unit?
        static let descriptions = ["city": "As it is called there.", "unit": "Celsius if left out."]
    }

    static func weather(forecast: @escaping @Sendable (String, Unit) async throws -> String) throws -> AgentTool {
        let weather = try AgentTool("get_weather", "The weather of a city.") { (place: Place) in
            try await forecast(place.city, place.unit ?? .celsius)
        }
        return weather
    }

    final class Ask: Approver {
        func decide(invocation: ToolInvocation) async throws -> Decision {
            await confirm("Run \(invocation.name)?") ? .granted : .denied(reason: "not now")
        }
    }

    static func asking(key: String, mail: AgentTool) throws -> Agent {
        let agent = try Agent(provider: "openai", model: "gpt-4o-mini", key: key, tools: [mail], approver: Ask())
        return agent
    }

    final class Choose: Answerer {
        func ask(invocation: ToolInvocation, question: Question) async throws -> UserAnswer {
            await confirm(question.message) ? .given(value: "today") : .declined(reason: "not now")
        }
    }

    struct Parcel: Decodable { let name: String }

    static func shipping(key: String, city: String) throws -> Agent {
        let speeds: JsonValue = ["enum": ["today", "this week"]]
        let ship = try AgentTool("ship", "Ships a parcel.") { (parcel: Parcel, context: ToolContext) in
            context.report(fraction: 0.5, message: "\(parcel.name) is packed")
            let answer = try await context.ask(question: Question(message: "How fast?", schema: speeds))
            guard case .given(let speed) = answer else { return "\(parcel.name) stays in \(city)" }
            return "\(parcel.name) leaves \(city): \(speed)"
        }
        let agent = try Agent(provider: "openai", model: "gpt-4o-mini", key: key, tools: [ship], answerer: Choose())
        return agent
    }

    static func telling(
        agent: Agent, text: String, show: (String) -> Void, offerAgain: (String) -> Void
    ) async {
        do {
            show(try await agent.sendAndWait(text).text)
        } catch let error as TurnError where error.isRetryable {
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

    static func keeping(file: String, key: String, weather: AgentTool, show: (Event) -> Void) async throws {
        let store = try await SessionStore.openSqlite(path: file)
        let agent = try Agent(
            provider: "openai", model: "gpt-4o-mini", key: key, tools: [weather], threadId: "garden",
            store: StoreSetup(store: store))
        for recovered in try await agent.recover() {
            if let turn = recovered.turn { for try await event in turn.events() { show(event) } }
        }
    }
}

private func confirm(_ question: String) async -> Bool {
    !question.isEmpty
}
