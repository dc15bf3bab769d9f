import Foundation
import Stepwell

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A mistake of a test's own.
struct TestFault: Error, CustomStringConvertible {
    let description: String
}

/// The scripted provider as a process; without hops it plays the secret numbers. It ends with its standard input.
final class MockLlm: Sendable {
    let baseUrl: String
    private let process: Process
    private let input = Pipe()

    /// Each hop is JSON. With `repeats` the script starts over with each message of the user's.
    init(_ hops: String..., repeats: Bool = false) throws {
        guard let program = ProcessInfo.processInfo.environment["STEPWELL_MOCK_LLM"] else {
            throw TestFault(description: "STEPWELL_MOCK_LLM names no program: run `cargo xtask test swift-package`")
        }
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = hops.isEmpty ? [] : ["-"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        self.process = process
        if !hops.isEmpty {
            input.fileHandleForWriting.write(Data("{\"repeat\":\(repeats),\"hops\":[\(hops.joined(separator: ","))]}".utf8))
        }
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
            let piece = output.fileHandleForReading.availableData
            if piece.isEmpty { throw TestFault(description: "mock-llm did not start") }
            line += piece
        }
        let addresses = try JSONSerialization.jsonObject(with: line) as? [String: Any]
        guard let baseUrl = addresses?["base_url"] as? String else { throw TestFault(description: "mock-llm says no address") }
        self.baseUrl = baseUrl
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The model that it plays.
    var model: Model { .openAICompatible("mock", baseUrl: baseUrl) }

    /// The model that it plays, by another name.
    func named(_ name: String) -> Model { .openAICompatible(name, baseUrl: baseUrl) }

    /// The AG-UI agent that it plays.
    var agUi: Model { .agUi(baseUrl.dropLast("/v1".count) + "/ag-ui") }

    /// What it was sent.
    func requests() async throws -> [Sent] {
        let address = URL(string: baseUrl.dropLast("/v1".count) + "/__requests")!
        let (data, _) = try await URLSession.shared.data(from: address)
        return try JSONDecoder().decode([Sent].self, from: data)
    }

    /// A hop that says something.
    static func text(_ text: String) -> String { #"{"steps":[{"text":"\#(text)"}]}"# }

    /// A hop that asks for a tool.
    static func call(_ name: String, _ arguments: String) -> String {
        #"{"steps":[{"tool_call":{"name":"\#(name)","arguments":\#(arguments)}}]}"#
    }

    /// A hop that says something and then nothing more.
    static func stall(_ text: String) -> String { #"{"steps":[{"text":"\#(text)"},"stall"]}"# }
}

/// What the model was sent: the messages' texts, the headers, and the user.
struct Sent: Decodable, Equatable {
    struct Body: Decodable, Equatable {
        struct Message: Decodable, Equatable { let content: String? }
        /// Of chat completions; other APIs name the conversation otherwise.
        let messages: [Message]?
        let user: String?
        let background: Bool?
        let store: Bool?
    }

    let headers: [String: String]
    let body: Body

    var texts: [String] { (body.messages ?? []).compactMap(\.content) }
    var system: String? { texts.first }
}
