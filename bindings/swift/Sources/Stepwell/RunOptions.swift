import StepwellBindings

/// The options of one run that differ from its agent's; what is nil is as in the agent.
///
///     let brief = RunOptions(instructions: "Answer in one word.", user: "user-7")
///     try await agent.run("What is the capital of Norway?", options: brief)
public struct RunOptions: Sendable {
    /// The app's instructions, instead of the agent's.
    public var instructions: String?
    /// The settings for the model's answers; those that are set override the agent's.
    public var settings: GenerationSettings?
    /// The limits of the run, instead of the agent's.
    public var limits: Limits?
    /// Tools of this run only, which have no need of its dependencies; one replaces the agent's tool of the same name.
    public var tools: [any AgentToolConvertible<Void>]
    /// Which of the agent's tools are on offer, by name; all of them if nil.
    public var toolNames: [String]?
    /// The end user that the run is for, as `GenerationSettings.user`.
    public var user: String?
    /// Whether the turn begins from the complete conversation, and not from the compacted one that earlier turns left.
    public var wholeHistory: Bool
    /// What happens if another turn of the conversation is under way, instead of what the agent says.
    public var whenBusy: WhenBusy?
    /// Additional headers, which replace the model's headers of the same names. They are not stored.
    public var headers: [String: String]

    public init(
        instructions: String? = nil, settings: GenerationSettings? = nil, limits: Limits? = nil,
        tools: [any AgentToolConvertible<Void>] = [], toolNames: [String]? = nil, user: String? = nil,
        wholeHistory: Bool = false, whenBusy: WhenBusy? = nil, headers: [String: String] = [:]
    ) {
        self.instructions = instructions
        self.settings = settings
        self.limits = limits
        self.tools = tools
        self.toolNames = toolNames
        self.user = user
        self.wholeHistory = wholeHistory
        self.whenBusy = whenBusy
        self.headers = headers
    }

    var made: TurnOptions {
        TurnOptions(
            instructions: instructions, settings: settings, limits: limits, toolNames: toolNames, user: user,
            wholeHistory: wholeHistory, whenBusy: whenBusy, headers: headers)
    }
}
