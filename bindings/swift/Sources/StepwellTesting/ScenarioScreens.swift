import Foundation
import StepwellBindings

/// The chat screens of a scenario's runs.
final class ScenarioScreens {
    private var screens: [String: ChatReducer] = [:]

    /// Begins the screen of a run on a history.
    func begin(_ name: String, _ messages: JsonValue) throws {
        screens[name] = try ChatReducer.fromMessages(messages: messages)
    }

    private func screen(_ name: String) throws -> ChatReducer {
        if let screen = screens[name] { return screen }
        let screen = try ChatReducer()
        screens[name] = screen
        return screen
    }

    /// Notes an action of the app that the run took.
    func act(_ name: String, _ step: Fields, now: Date) throws {
        let screen = try screen(name)
        switch step.text("input") {
        case "start":
            let turn = try step.needed("run_id")
            let said = try step.text("say").map { try message("\(turn)-user", $0) }
            try screen.begin(turn: turn, message: said ?? step.json("message"), now: now)
        case "steer":
            try screen.steer(message: message(step.needed("message_id"), step.needed("say")))
        default: break
        }
    }

    private func message(_ id: String, _ text: String) throws -> JsonValue {
        try JsonValue(parsing: json(["id": id, "role": "user", "content": text]))
    }

    func resume(_ name: String) throws {
        try screen(name).resume()
    }

    /// Notes the outputs of a run.
    func take(_ name: String, _ came: [Outputs], now: Date) throws {
        let screen = try screen(name)
        for outputs in came { try screen.apply(events: outputs.events, now: now) }
    }

    /// What the screen of a run shows; nil if there is none.
    func shown(_ name: String, usage: TokenUsage) throws -> Fields? {
        guard let screen = screens[name] else { return nil }
        screen.setUsage(usage: usage)
        let state = screen.state()
        var shown: Fields = [
            "status": camel(state.status), "lines": try state.messages.flatMap(lines), "digest": screen.digest(),
        ]
        let waiting = state.pending.map(\.id) + state.interrupts.map(\.id)
        if !waiting.isEmpty { shown["pending"] = waiting }
        if let problem = state.problem { shown["problem"] = camel(problem.kind) }
        return shown
    }
}

/// The name of a case without values, as the state's JSON has it.
private func camel(_ value: some Any) -> String { "\(value)" }

/// The parts of a message in a line each.
private func lines(_ message: ChatMessage) throws -> [String] {
    let role = camel(message.role)
    func line(_ part: ChatPart) throws -> String {
        switch part {
        case .text(let it): return it.text
        case .reasoning(let it): return "(reasoning) \(it.text)"
        case .tool(let it):
            let card = it.card
            let said = (card.result ?? card.failure).map { ": \($0)" } ?? ""
            return "[\(card.label) \(camel(card.status))\(said)]"
        case .media(let it):
            let part = try parsed(it.media.json.text) as? Fields
            return "[\(part?.text("type") ?? "")]"
        case .activity(let it): return "[\(it.activityType)]"
        }
    }
    let parts = try message.parts.map { "\(role): \(try line($0))" }
    return parts + (message.isCut ? ["\(role): (cut)"] : [])
}
