// The closures of the app that an agent is given, as Stepwell calls them.
import StepwellBindings

/// Runs code whose error fails the turn: it is told in a sentence.
func told<Value>(_ run: () async throws -> Value) async throws -> Value {
    do {
        return try await run()
    } catch let error as CallbackError {
        throw error
    } catch is CancellationError {
        throw CancellationError()
    } catch {
        throw CallbackError.Failed(reason: sentence(of: error))
    }
}

final class Approving: Approver {
    private let run: @Sendable (ToolInvocation) async throws -> Decision

    init(_ run: @escaping @Sendable (ToolInvocation) async throws -> Decision) { self.run = run }

    func decide(invocation: ToolInvocation) async throws -> Decision {
        try await told { try await run(invocation) }
    }
}

final class Answering: Answerer {
    private let run: @Sendable (ToolInvocation, Question) async throws -> UserAnswer

    init(_ run: @escaping @Sendable (ToolInvocation, Question) async throws -> UserAnswer) { self.run = run }

    func ask(invocation: ToolInvocation, question: Question) async throws -> UserAnswer {
        try await told { try await run(invocation, question) }
    }
}

final class Authorizing: CredentialSource {
    private let run: @Sendable (CredentialRequest) async throws -> Authorization

    init(_ run: @escaping @Sendable (CredentialRequest) async throws -> Authorization) { self.run = run }

    func credentials(request: CredentialRequest) async throws -> Authorization {
        try await told { try await run(request) }
    }
}

final class Instructing: InstructionsSource {
    private let run: @Sendable (InstructionsRequest) async throws -> String

    init(_ run: @escaping @Sendable (InstructionsRequest) async throws -> String) { self.run = run }

    func instructions(request: InstructionsRequest) async throws -> String {
        try await told { try await run(request) }
    }
}

final class Trimming: Trimmer {
    private let run: @Sendable (ContextOverflow, JsonValue) async throws -> Trimmed?

    init(_ run: @escaping @Sendable (ContextOverflow, JsonValue) async throws -> Trimmed?) { self.run = run }

    func trim(overflow: ContextOverflow, messages: JsonValue) async throws -> Trimmed? {
        try await told { try await run(overflow, messages) }
    }
}

final class Choosing: ModelChooser {
    private let run: @Sendable (HopContext) async throws -> Int

    init(_ run: @escaping @Sendable (HopContext) async throws -> Int) { self.run = run }

    func choose(context: HopContext) async throws -> UInt32 {
        // No model has the number that stands for one that is out of range.
        try await told { UInt32(exactly: try await run(context)) ?? .max }
    }
}

final class CreatingRuns: RunSource {
    private let run: @Sendable (NewRun) async throws -> String

    init(_ run: @escaping @Sendable (NewRun) async throws -> String) { self.run = run }

    func createRun(new: NewRun) async throws -> String {
        try await told { try await run(new) }
    }
}

final class Journaling: JournalSink {
    private let run: @Sendable (String, String) throws -> Void

    init(_ run: @escaping @Sendable (String, String) throws -> Void) { self.run = run }

    func write(turn: String, lines: String) throws {
        do {
            try run(turn, lines)
        } catch let error as CallbackError {
            throw error
        } catch {
            throw CallbackError.Failed(reason: sentence(of: error))
        }
    }
}
