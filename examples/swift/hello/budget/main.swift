// A turn that may cost a cent, and what it has cost.
import Stepwell

struct Person: Decodable { let name: String }
let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
    person.name.lowercased() == "alice" ? 42 : 7
}
let model = Model.openAI("gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first)
let agent = Agent(model: model, tools: [secretNumber], limits: Limits(maxCost: 0.01))
let result = try await agent.run("What are Alice's and Bob's secret numbers?")
print("\(result.text) It cost $\(result.cost ?? 0): \(result.stopReason)")
