import Stepwell

struct Trip: Decodable {
    let city: String
    @Guide("How long.", .range(1...14)) var days: Int
}

let agent = Agent(model: .openAI("gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first))
let trip = try await agent.run("Three days in Norway: where?", generating: Trip.self).output
print("\(trip.days) days in \(trip.city)")
