import Stepwell

struct Person: Decodable { let name: String }
let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
    person.name.lowercased() == "alice" ? 42 : 7
}
let guardian = AgentHook(
    "guard",
    afterAnswer: { answer in
        if answer.text.contains("42") { throw HookRefusal("it tells the number") }
    },
    beforeTool: { call in
        let person: Person = try call.arguments.decode()
        if person.name.lowercased() == "bob" { throw HookRefusal("Bob's is his own") }
        return nil
    })
let model = Model.openAI("gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first)
let agent = Agent(model: model, tools: [secretNumber], hooks: [guardian])
do {
    print(try await agent.run("What are Alice's and Bob's secret numbers?").text)
} catch let error as StepwellError where error.kind == .refused {
    print(error.message)
}
