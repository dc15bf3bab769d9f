// What `docs/guides/foundation-models.md` shows, to be compiled; the suite `docs` compares.
#if canImport(FoundationModels)
    import FoundationModels
    import Stepwell
    import StepwellFoundationModels
#elseif canImport(FoundationModelsStandIn)
    import FoundationModelsStandIn
    import Stepwell
    import StepwellFoundationModels
#endif

#if canImport(FoundationModelsStandIn)

func first() async throws {
    // A model of Stepwell's providers in Apple's session.
    let session = LanguageModelSession(model: StepwellLanguageModel(.anthropic("claude-sonnet-4-5")))
    print(try await session.respond(to: "What is the capital of Norway?").content)

    // Apple's on-device model in Stepwell's agent.
    let agent = Agent(model: .onDevice(), instructions: "Be brief.")
    print(try await agent.run("What is the capital of Norway?").text)
}

func configured(freshKey: @escaping @Sendable () async throws -> String) -> StepwellLanguageModel {
    let agent = Agent(
        model: .openAI("gpt-4o-mini"), credentials: { _ in Authorization(key: try await freshKey()) },
        retry: RetryPolicy(attempts: 2))
    let model = StepwellLanguageModel(agent: agent)
    return model
}

func fallingBack(tools: [AgentTool]) -> Agent {
    let agent = Agent(
        model: .onDevice(), fallback: [.openAI("gpt-4o-mini")],
        fallbackAfter: [.notFound, .contextTooLong, .rateLimit, .serverError, .timeout], tools: tools)
    return agent
}

func withoutNetwork() -> Agent {
    let agent = Agent(model: .openAI("gpt-4o-mini"), fallback: [.onDevice()])
    return agent
}

#endif
