package dev.stepwell

import dev.stepwell.internal.AgentTool

/**
 * The options of one run that differ from its agent's; what is not set is as in the agent.
 *
 * ```
 * agent.run("What is the capital of Norway?") { instructions = "Answer in one word."; user = "user-7" }
 * ```
 */
@StepwellDsl
public class RunOptions internal constructor(private val engine: Engine) {
    /** The app's instructions, instead of the agent's. */
    public var instructions: String? = null

    /** The settings for the model's answers; those that are set override the agent's. */
    public var settings: GenerationSettings? = null

    /** The limits of the run, instead of the agent's. */
    public var limits: Limits? = null

    /** Which of the agent's tools are on offer, by name; all of them if absent. */
    public var toolNames: List<String>? = null

    /** The end user that the run is for, as [GenerationSettings.user]. */
    public var user: String? = null

    /** Whether the turn begins from the complete conversation, and not from the compacted one that earlier turns left. */
    public var wholeHistory: Boolean = false

    /** What happens if another turn of the conversation is under way, instead of what the agent says. */
    public var whenBusy: WhenBusy? = null

    /** Additional headers, which replace the model's headers of the same names. They are not stored. */
    public var headers: Map<String, String> = emptyMap()

    internal val tools = mutableListOf<AgentTool>()

    /** Sets some of the settings. */
    public fun settings(set: GenerationSettingsBuilder.() -> Unit) {
        settings = GenerationSettingsBuilder(settings ?: GenerationSettings()).apply(set).build()
    }

    /** Changes the agent's limits for this run: what the block does not set stays. */
    public fun limits(set: LimitsBuilder.() -> Unit) {
        limits = LimitsBuilder(limits ?: engine.limits).apply(set).build()
    }

    /** Adds a tool of this run only; it replaces the agent's tool of the same name. */
    public fun tool(name: String, description: String, build: ToolBuilder<Unit>.() -> Unit) {
        tools += ToolBuilder<Unit>(name, description, engine.code).apply(build).build()
    }

    internal fun made(): TurnOptions =
        TurnOptions(
            instructions = instructions,
            settings = settings,
            limits = limits,
            toolNames = toolNames,
            user = user,
            wholeHistory = wholeHistory,
            whenBusy = whenBusy,
            headers = headers,
        )
}
