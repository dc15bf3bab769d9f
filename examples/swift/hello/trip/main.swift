import Stepwell

struct Trip: ToolArguments {
    let city: String
    let days: UInt
    static let descriptions = ["days": "At least one."]
}

let agent = Agent(model: .openAI("gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first))
let trip = try await agent.run("Three days in Norway: where?", generating: Trip.self).output
print("\(trip.days) days in \(trip.city)")
