import Stepwell

let model = Model.openAI("gpt-5", baseUrl: CommandLine.arguments.dropFirst().first, background: true)
print(try await Agent(model: model).run("Write a long story about otters in space.").text)
