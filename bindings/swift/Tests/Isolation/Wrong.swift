// None of the lines that end in a mark may compile; the suite `swift-package` counts the errors.
import Stepwell

struct Plan: Decodable {
    let city: String
}

struct Bank: Sendable {}
struct Depot: Sendable {}

struct Balance: ToolWith {
    let description = "The balance."
    func call(arguments: Plan, context: ToolContextWith<Bank>) async throws -> String { arguments.city }
}

func wrong(agent: Agent, bankers: AgentWith<Bank>) async throws {
    // A typed answer has its own fields alone.
    let plan = try await agent.run("Where to?", generating: Plan.self)
    _ = plan.output.town  // wrong
    let text: String = plan.output  // wrong
    for try await partial in agent.stream("Where to?", generating: Plan.self).partials {
        _ = partial.town  // wrong
        let city: String = partial.city  // wrong
    }
    // Without a type it is text.
    _ = try await agent.run("Where to?").output.city  // wrong
    // A definition remembers nothing.
    _ = agent.messages  // wrong
    // A provider that there is not.
    _ = Agent(model: .opnAI("gpt-5-mini"))  // wrong
    // Options have types.
    _ = agent.stream("Hi", options: RunOptions(user: 7))  // wrong
    // A rule is for a type of property.
    _ = Guide<Int>("How long.", .pattern("^[0-9]+$"))  // wrong
    _ = Guide<String>("Where.", .minimum("a"))  // wrong
    // Runs are given what their tools need.
    _ = try await bankers.run("Hi", deps: Depot())  // wrong
    _ = try await bankers.run("Hi")  // wrong
    _ = AgentWith<Depot>(model: "openai:gpt-5-mini", tools: [Balance()])  // wrong
    // What uniffi generates for the package is not for apps.
    _ = FfiAgent.self  // wrong
    _ = RunMachine.self  // wrong
}
