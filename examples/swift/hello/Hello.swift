// A question, two tool calls, an answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
import Foundation
import Stepwell

struct Person: Decodable {
    let name: String
}

@main
struct Hello {
    static func main() async throws {
        let numbers = ["alice": 42, "bob": 7]
        let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
            numbers[person.name.lowercased()]
        }
        let baseUrl = CommandLine.arguments.dropFirst().first
        let agent = Agent(model: .openAI("gpt-4o-mini", baseUrl: baseUrl), tools: [secretNumber])
        do {
            for try await text in agent.stream("What are Alice's and Bob's secret numbers?").textStream {
                FileHandle.standardOutput.write(Data(text.utf8))
            }
            print()
        } catch let error as StepwellError {
            // A wrong key, say.
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }
}
