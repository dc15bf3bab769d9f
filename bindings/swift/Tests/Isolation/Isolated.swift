// New apps are isolated to the main actor by default, where this must not compile: the library decodes arguments and answers
// on any thread. Without that default it compiles. The suite `swift-package` tries both.
import Stepwell

struct Note: Decodable {
    let text: String

    enum CodingKeys: CodingKey { case text }

    init(from decoder: any Decoder) throws {
        text = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text)
    }
}

func tool() throws -> AgentTool {
    try AgentTool("note", "Notes.") { (note: Note) in note.text }
}

func answer(of agent: Agent) async throws -> String {
    try await agent.run("A note, please", generating: Note.self).output.text
}
