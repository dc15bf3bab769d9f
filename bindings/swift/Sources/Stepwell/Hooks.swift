import Foundation
import StepwellBindings

/// Thrown by a hook that refuses its subject. A refused call, or its result, goes back to the model with the reason,
/// and the turn continues; a refused request or answer ends the turn.
public struct HookRefusal: Error {
    public let reason: String

    public init(_ reason: String) {
        self.reason = reason
    }
}

/// Code that looks at what goes to the model and comes from it, and at calls: it changes or refuses them.
public struct AgentHook: Sendable {
    /// The name, for errors and events.
    public let name: String
    let moments: [HookMoment]
    private let code: any Hook

    /// A hook with closures as its code. It is asked about the subjects that it has closures for.
    ///
    /// Each closure accepts its subject by returning `nil`, or returns a replacement: `beforeRequest` the messages of
    /// the request, AG-UI's, while the history is not changed; `beforeTool` the arguments, which must fit the tool's
    /// schema; `afterTool` another result for the model, text or content parts. It throws `HookRefusal` with the reason
    /// to refuse. Another error fails the turn, with the hook's name.
    public init(
        _ name: String,
        beforeRequest: (@Sendable (HookedRequest) async throws -> JsonValue?)? = nil,
        afterAnswer: (@Sendable (HookedAnswer) async throws -> Void)? = nil,
        beforeTool: (@Sendable (ToolInvocation) async throws -> JsonValue?)? = nil,
        afterTool: (@Sendable (HookedResult) async throws -> JsonValue?)? = nil
    ) {
        var moments: [HookMoment] = []
        if beforeRequest != nil { moments.append(.beforeRequest) }
        if afterAnswer != nil { moments.append(.afterAnswer) }
        if beforeTool != nil { moments.append(.beforeTool) }
        if afterTool != nil { moments.append(.afterTool) }
        self.name = name
        self.moments = moments
        code = Looking(
            beforeRequest: beforeRequest, afterAnswer: afterAnswer, beforeTool: beforeTool, afterTool: afterTool)
    }

    /// The hook as Stepwell takes it.
    var made: FfiAgentHook { FfiAgentHook(name: name, moments: moments, hook: code) }
}

/// The content of the next request.
public typealias HookedRequest = HookSubject.HookedRequest
/// The model's answer.
public typealias HookedAnswer = HookSubject.HookedAnswer
/// The result of a call.
public typealias HookedResult = HookSubject.HookedResult

private final class Looking: Hook {
    private let beforeRequest: (@Sendable (HookedRequest) async throws -> JsonValue?)?
    private let afterAnswer: (@Sendable (HookedAnswer) async throws -> Void)?
    private let beforeTool: (@Sendable (ToolInvocation) async throws -> JsonValue?)?
    private let afterTool: (@Sendable (HookedResult) async throws -> JsonValue?)?

    init(
        beforeRequest: (@Sendable (HookedRequest) async throws -> JsonValue?)?,
        afterAnswer: (@Sendable (HookedAnswer) async throws -> Void)?,
        beforeTool: (@Sendable (ToolInvocation) async throws -> JsonValue?)?,
        afterTool: (@Sendable (HookedResult) async throws -> JsonValue?)?
    ) {
        self.beforeRequest = beforeRequest
        self.afterAnswer = afterAnswer
        self.beforeTool = beforeTool
        self.afterTool = afterTool
    }

    func look(subject: HookSubject) async throws -> HookAnswer {
        do {
            switch subject {
            case .hookedRequest(let request):
                guard let changed = try await beforeRequest?(request) else { return .goOn }
                return .changeRequest(.init(instructions: nil, messages: changed))
            case .hookedAnswer(let answer):
                try await afterAnswer?(answer)
                return .goOn
            case .hookedCall(let call):
                guard let changed = try await beforeTool?(call.invocation) else { return .goOn }
                return .changeArguments(.init(arguments: changed))
            case .hookedResult(let result):
                guard let changed = try await afterTool?(result) else { return .goOn }
                return .changeResult(.init(content: changed))
            }
        } catch let refusal as HookRefusal {
            return .refused(.init(reason: refusal.reason))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return .failed(.init(message: sentence(of: error)))
        }
    }
}
