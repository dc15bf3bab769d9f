import Stepwell

/// Stands for the app's own way to a token: from its cache, or anew.
final class Tokens: CredentialSource {
    func credentials(request: CredentialRequest) async throws -> Authorization {
        Authorization(key: request.rejected ? "new" : "old")
    }
}

let agent = try Agent(
    provider: "openai", model: "gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first,
    instructions: "Answer in full sentences.", credentials: Tokens())
let options = TurnOptions(instructions: "Answer in one word.", user: "user-7")
print(try await agent.sendAndWait("What is the capital of Norway?", options: options).text)
