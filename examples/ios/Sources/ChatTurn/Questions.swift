import Foundation
import Stepwell

/// What a turn asks the user. Several may be open at once.
public enum Question: Equatable, Identifiable, Sendable {
    /// May this tool run?
    case approval(effect: String, ToolInvocation)
    /// What an AG-UI agent wants to know before it goes on.
    case fromAgent(Interrupt)

    public var id: String {
        switch self {
        case .approval(let effect, _): effect
        case .fromAgent(let interrupt): interrupt.id
        }
    }

    /// What to show.
    public var text: String {
        switch self {
        case .approval(_, let invocation): "Allow \(invocation.name)? \(invocation.arguments)"
        case .fromAgent(let interrupt): interrupt.message ?? "The agent asks you."
        }
    }

    /// Whether it wants a yes or a no.
    public var isApproval: Bool {
        guard case .fromAgent(let interrupt) = self else { return true }
        struct Schema: Decodable {
            struct Anything: Decodable {}
            let properties: [String: Anything]?
        }
        let schema: Schema? = try? interrupt.responseSchema?.decode()
        return schema?.properties?["approved"] != nil
    }

    var isFromAgent: Bool {
        if case .fromAgent = self { true } else { false }
    }
}

/// What the user says to a question.
public enum Answer: Equatable, Sendable {
    /// It may.
    case approved
    /// It may not; the model reads why.
    case denied(reason: String? = nil)
    /// An answer in words, or in JSON where the agent wants that.
    case said(String)
    /// None is given.
    case dismissed
}

extension Interrupt {
    /// The answer as the agent is sent it.
    func answered(with answer: Answer) -> ResumeEntry {
        let payload: JsonValue
        switch answer {
        case .approved: payload = ["approved": true]
        case .denied(let reason?): payload = ["approved": false, "reason": JsonValue(stringLiteral: reason)]
        case .denied(nil): payload = ["approved": false]
        case .said(let text): payload = (try? JsonValue(parsing: text)) ?? JsonValue(stringLiteral: text)
        case .dismissed: return ResumeEntry(interruptId: id, status: .cancelled)
        }
        return ResumeEntry(interruptId: id, status: .resolved, payload: payload)
    }
}
