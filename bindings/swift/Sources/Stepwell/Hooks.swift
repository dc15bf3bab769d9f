import Foundation

/// Thrown by a hook that does not let pass what it looks at. Of a call, or of its result, the model is told the reason, and the
/// turn goes on; a request or an answer ends the turn by it.
public struct HookRefusal: Error {
    public let reason: String

    public init(_ reason: String) {
        self.reason = reason
    }
}

extension AgentHook {
    /// A hook with closures as its code. It is asked about what it has one for.
    ///
    /// Each lets pass what it looks at by returning `nil`, or gives what stands in its place: `beforeRequest` the messages of
    /// the request, AG-UI's, while the history stays as it is; `beforeTool` the arguments, which fit the tool's schema;
    /// `afterTool` what the model is told, text or content parts. It throws `HookRefusal` with the reason to refuse. Another error
    /// fails the turn, with the hook's name.
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
        let hook = Looking(
            beforeRequest: beforeRequest, afterAnswer: afterAnswer, beforeTool: beforeTool, afterTool: afterTool)
        self.init(name: name, moments: moments, hook: hook)
    }
}

/// What the next request is made of.
public typealias HookedRequest = HookSubject.HookedRequest
/// What the model has said.
public typealias HookedAnswer = HookSubject.HookedAnswer
/// What came of a call.
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
