import Stepwell

struct Person: Decodable { let name: String }
let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
    person.name.lowercased() == "alice" ? 42 : 7
}
let model = Model.openAI("gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first)
let agent = Agent(model: model, tools: [secretNumber])
print(try await agent.run("What are Alice's and Bob's secret numbers?").text)
