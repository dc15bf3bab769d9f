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
        case .approval(_, let invocation): "Allow \(invocation.name)? \(invocation.argumentsJson)"
        case .fromAgent(let interrupt): interrupt.message ?? "The agent asks you."
        }
    }

    /// Whether it wants a yes or a no.
    public var isApproval: Bool {
        guard case .fromAgent(let interrupt) = self else { return true }
        let schema = interrupt.responseSchemaJson.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) }
        let properties = (schema as? [String: Any])?["properties"] as? [String: Any]
        return properties?["approved"] != nil
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
        let payload: Any
        switch answer {
        case .approved: payload = ["approved": true]
        case .denied(let reason?): payload = ["approved": false, "reason": reason] as [String: Any]
        case .denied(nil): payload = ["approved": false]
        case .said(let text): payload = json(text) ?? text
        case .dismissed: return ResumeEntry(interruptId: id, status: .cancelled)
        }
        let data = try? JSONSerialization.data(withJSONObject: payload, options: [.fragmentsAllowed, .sortedKeys])
        return ResumeEntry(
            interruptId: id, status: .resolved, payloadJson: data.map { String(decoding: $0, as: UTF8.self) })
    }

    private func json(_ text: String) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }
}
