// A question, two tool calls, an answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import Foundation
import Stepwell

struct Person: ToolArguments {
    let name: String
}

@main
struct Hello {
    static func main() async throws {
        let numbers = ["alice": 42, "bob": 7]
        let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
            numbers[person.name.lowercased()]
        }
        let key = ProcessInfo.processInfo.environment["OPENAI_API_KEY"]
        let baseUrl = CommandLine.arguments.dropFirst().first
        let agent = try Agent(
            provider: "openai", model: "gpt-4o-mini", baseUrl: baseUrl, key: key, tools: [secretNumber])
        for try await event in agent.send("What are Alice's and Bob's secret numbers?") {
            if case .textMessageContent(let text) = event { FileHandle.standardOutput.write(Data(text.delta.utf8)) }
            // A wrong key, say, is told with the last event.
            if case .completed(let turn) = event, let problem = turn.outcome.problem {
                FileHandle.standardError.write(Data("\(problem.message); \(problem.advice)\n".utf8))
                exit(1)
            }
        }
        print()
    }
}
