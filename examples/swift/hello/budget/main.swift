// A turn that may cost a cent, and what it has cost.
import Foundation
import Stepwell

struct Person: Decodable { let name: String }
let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
    person.name.lowercased() == "alice" ? 42 : 7
}
let (url, key) = (CommandLine.arguments.dropFirst().first, ProcessInfo.processInfo.environment["OPENAI_API_KEY"])
let agent = try Agent(
    provider: "openai", model: "gpt-4o-mini", baseUrl: url, key: key, limits: Limits(maxCost: 0.01), tools: [secretNumber])
let finished = try await agent.sendAndWait("What are Alice's and Bob's secret numbers?")
print("\(finished.text) It cost $\(finished.usage.cost ?? 0): \(finished.outcome)")
