import Foundation
import Stepwell

let (picture, url) = (CommandLine.arguments[1], CommandLine.arguments.dropFirst(2).first)
let key = ProcessInfo.processInfo.environment["OPENAI_API_KEY"]
let agent = try Agent(provider: "openai", model: "gpt-4o-mini", baseUrl: url, key: key)
print(try await agent.sendAndWait("What is this?", try image(picture)).text)
