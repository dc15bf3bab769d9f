package dev.stepwell

import kotlinx.serialization.json.Json
import kotlinx.serialization.serializer

/**
 * Makes an agent whose tools need a value of the app's own in each run: a database, say, or the signed-in user.
 *
 * ```
 * class AppDeps(val orders: Orders)
 *
 * val agent = AgentWithDeps<AppDeps>("openai:gpt-5-mini") {
 *     tool("order_status", "The status of an order.") {
 *         string("id")
 *         run { call, context -> context.deps.orders.status(call.string("id")) }
 *     }
 * }
 * println(agent.run("Where is order 7?", deps = AppDeps(orders)).text)
 * ```
 */
public fun <D> AgentWithDeps(model: String, build: AgentBuilder<D>.() -> Unit): AgentWithDeps<D> =
    AgentWithDeps(Model(model), build)

/** Makes an agent whose tools need a value of the app's own in each run. */
public fun <D> AgentWithDeps(model: Model, build: AgentBuilder<D>.() -> Unit): AgentWithDeps<D> =
    AgentWithDeps(AgentBuilder<D>(model).apply(build).engine())

/**
 * An agent whose tools need a value of the type [D] in each run, by [ToolContext.deps]. The value is neither sent nor
 * stored. [withDeps] gives the agent one: what it returns is an [Agent] as any other, for conversations say.
 */
public class AgentWithDeps<in D> internal constructor(private val engine: Engine) {
    /** The model that answers. */
    public val model: Model get() = engine.model

    /**
     * Asks the model, without any memory, and waits for the complete answer; see [Agent.run].
     *
     * @throws StepwellException if the answer is incomplete; its subclasses give the reason
     */
    public suspend fun run(
        prompt: String,
        vararg parts: ContentPart,
        deps: D,
        options: RunOptions.() -> Unit = {},
    ): TurnResult<String> = withDeps(deps).run(prompt, *parts, options = options)

    /** Asks the model for an answer of a `@Serializable` type. */
    @JvmName("runTyped")
    public suspend inline fun <reified T> run(
        prompt: String,
        vararg parts: ContentPart,
        deps: D,
        json: Json = StepwellJson,
        noinline options: RunOptions.() -> Unit = {},
    ): TurnResult<T> = withDeps(deps).run(prompt, serializer<T>(), *parts, json = json, options = options)

    /** Asks the model, without any memory; the turn begins when it is collected. */
    public fun stream(
        prompt: String,
        vararg parts: ContentPart,
        deps: D,
        options: RunOptions.() -> Unit = {},
    ): Turn<String> = withDeps(deps).stream(prompt, *parts, options = options)

    /** Asks the model for an answer of a `@Serializable` type; the turn begins when it is collected. */
    @JvmName("streamTyped")
    public inline fun <reified T> stream(
        prompt: String,
        vararg parts: ContentPart,
        deps: D,
        json: Json = StepwellJson,
        noinline options: RunOptions.() -> Unit = {},
    ): Turn<T> = withDeps(deps).stream(prompt, serializer<T>(), *parts, json = json, options = options)

    /**
     * Returns the agent with the value for its tools. Conversations of the same id are the same one, whatever the value:
     * `agent.withDeps(AppDeps(user)).conversation(id)` is for one request.
     */
    public fun withDeps(deps: D): Agent = Agent(engine, Deps(deps))

    /** Returns the same agent with another model. */
    public fun withModel(model: Model): AgentWithDeps<D> = AgentWithDeps(engine.with(model, engine.configOf(model)))
}
