// None of these lines may compile; the suite `swift-package` counts the errors.
import Stepwell

struct Trip: ToolArguments {
    let city: String
}

func wrong(agent: Agent, tool: AgentTool) async throws {
    // A typed answer has its own fields alone.
    let trip = try await agent.run("Where to?", generating: Trip.self)
    _ = trip.output.town
    let text: String = trip.output
    // Without a type it is text.
    _ = try await agent.run("Where to?").output.city
    // A definition remembers nothing.
    _ = agent.messages
    // A provider that there is not.
    _ = Agent(model: .opnAI("gpt-5-mini"))
    // Options have types.
    _ = agent.stream("Hi", options: RunOptions(user: 7))
}
