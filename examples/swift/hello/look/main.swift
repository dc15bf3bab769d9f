import Stepwell

let (picture, url) = (CommandLine.arguments[1], CommandLine.arguments.dropFirst(2).first)
let agent = Agent(model: .openAI("gpt-4o-mini", baseUrl: url))
print(try await agent.run("What is this?", try image(picture)).text)
