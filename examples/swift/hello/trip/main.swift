import Foundation
import Stepwell

struct Trip: ToolArguments {
    let city: String
    let days: UInt
    static let descriptions = ["days": "At least one."]
}

let (url, key) = (CommandLine.arguments.dropFirst().first, ProcessInfo.processInfo.environment["OPENAI_API_KEY"])
let agent = try Agent(provider: "openai", model: "gpt-4o-mini", baseUrl: url, key: key)
let trip = try await agent.run("Three days in Norway: where?", Trip.self)
print("\(trip.days) days in \(trip.city)")
