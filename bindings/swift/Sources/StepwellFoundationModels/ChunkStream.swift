import Foundation
import Stepwell

/// A chunk of a Chat Completions stream.
struct Chunk: Encodable {
    struct Call: Encodable, Sendable {
        struct Function: Encodable, Sendable {
            let name: String
            let arguments: String
        }
        let index: Int
        let id: String
        let type = "function"
        let function: Function
    }

    struct Delta: Encodable {
        var content: String?
        var refusal: String?
        var tool_calls: [Call]?
    }

    struct Choice: Encodable {
        let index = 0
        var delta = Delta()
        var finish_reason: String?
    }

    var choices: [Choice]

    /// A delta of the answer's text.
    static func text(_ text: String) -> Chunk { Chunk(choices: [Choice(delta: Delta(content: text))]) }

    /// The model's refusal to answer.
    static func refusal(_ text: String) -> Chunk { Chunk(choices: [Choice(delta: Delta(refusal: text))]) }
}

/// Writes an answer in the form of a Chat Completions stream.
final class ChunkStream {
    private let answer: HttpAnswer
    private var isOpen = false

    init(_ answer: HttpAnswer) {
        self.answer = answer
    }

    /// Sends a chunk.
    ///
    /// - Throws: `CancellationError` if the answer is no longer needed.
    func send(_ chunk: Chunk) async throws {
        if !isOpen { try open(status: 200, type: "text/event-stream") }
        try await write(Data("data: ".utf8) + JSONEncoder().encode(chunk) + Data("\n\n".utf8))
    }

    /// Sends the calls and the end.
    func end(_ calls: [Chunk.Call]) async throws {
        let delta = Chunk.Delta(tool_calls: calls.isEmpty ? nil : calls)
        try await send(Chunk(choices: [Chunk.Choice(delta: delta, finish_reason: calls.isEmpty ? "stop" : "tool_calls")]))
        try await write(Data("data: [DONE]\n\n".utf8))
    }

    /// Sends an error: as the answer, or as the last chunk of one that has begun.
    @available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
    func fail(_ problem: OnDeviceProblem) async throws {
        let error = try JSONEncoder().encode(["error": ["code": problem.code, "message": problem.message]])
        if isOpen { return try await write(Data("data: ".utf8) + error + Data("\n\n".utf8)) }
        try open(status: problem.status, type: "application/json")
        try await write(error)
    }

    private func open(status: UInt16, type: String) throws {
        isOpen = true
        try answer.opened(status: status, headers: [HttpHeader(name: "content-type", value: type)])
    }

    private func write(_ bytes: Data) async throws {
        guard await answer.received(bytes: bytes) else { throw CancellationError() }
    }
}
