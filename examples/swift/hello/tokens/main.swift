import Stepwell

let agent = Agent(
    model: .openAI("gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first),
    instructions: "Answer in full sentences.",
    // Stands for the app's own way to a token: from its cache, or anew.
    credentials: { request in Authorization(key: request.rejected ? "new" : "old") })
let options = RunOptions(instructions: "Answer in one word.", user: "user-7")
print(try await agent.run("What is the capital of Norway?", options: options).text)
