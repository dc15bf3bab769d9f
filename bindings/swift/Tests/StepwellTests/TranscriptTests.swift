import Foundation
import Testing

@testable import Stepwell

/// A conversation as messages, and as JSON.
@Suite struct TranscriptTests {
    private let text = #"""
        [{"id":"1","role":"user","content":[{"type":"text","text":"Is [\"this\\"},{"type":"image","mine":1.0},{"type":"text","text":", {that}?"}]},
         {"id":"2","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"a\":[1]}"}}]},
         {"id":"3","role":"tool","toolCallId":"c","content":"seen"},
         {"id":"4","role":"developer","content":"Be kind."}, {"id":"5","role":"activity","content":{"a":[]}}]
        """#

    @Test func messagesHaveTypes() throws {
        let transcript = try Transcript(parsing: text)
        #expect(transcript.map(\.id) == ["1", "2", "3", "4", "5"])
        #expect(transcript[0].text == "Is [\"this\\, {that}?")
        guard case .assistant(let said) = transcript[1], case .tool(let result) = transcript[2],
            case .system(let instructions) = transcript[3], case .other(let other) = transcript[4]
        else { return #expect(Bool(false), "\(transcript)") }
        #expect(said.text == "")
        #expect(said.toolCalls == [ToolCall(id: "c", name: "look", arguments: #"{"a":[1]}"#)])
        #expect(result.toolCallId == "c" && result.text == "seen")
        #expect(instructions.text == "Be kind.")
        #expect(other.role == "activity")
    }

    @Test func whatIsNotReadIsKept() throws {
        let written = try Transcript(parsing: text).json
        #expect(written.text.contains(#"{"type":"image","mine":1.0}"#))
        #expect(try Transcript(parsing: written.text) == Transcript(parsing: text))
        #expect(Transcript().json == [])
        #expect(throws: DecodingError.self) { try Transcript(parsing: "{}") }
    }

    @Test func messagesAreMade() throws {
        let transcript: Transcript = [.system("Be \"kind\"."), .user("Hi"), .assistant(AssistantMessage("Hello", id: "a"))]
        #expect(transcript.map(\.text) == ["Be \"kind\".", "Hi", "Hello"])
        #expect(transcript[2].id == "a")
        #expect(Set(transcript.map(\.id)).count == 3)
        #expect(try Transcript(parsing: transcript.json.text).map(\.text) == transcript.map(\.text))
    }
}
