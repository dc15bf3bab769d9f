package dev.stepwell

import java.util.UUID
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.serializer

/**
 * Makes an agent: a model with instructions, tools, settings and limits.
 *
 * ```
 * val agent = Agent(Model.openai("gpt-5-mini")) {
 *     instructions = "Be brief."
 *     tool("get_secret_number", "The secret number of a person.") {
 *         string("name", "The user's name.")
 *         run { call -> numbers.getValue(call.string("name")) }
 *     }
 *     limits { maxToolRounds = 5 }
 * }
 * println(agent.run("What is Alice's secret number?").text)
 * ```
 */
public fun Agent(model: Model, build: AgentBuilder<Unit>.() -> Unit = {}): Agent =
    AgentBuilder<Unit>(model).apply(build).build()

/** Makes an agent with the model that a text such as `openai:gpt-5-mini` names. */
public fun Agent(model: String, build: AgentBuilder<Unit>.() -> Unit = {}): Agent = Agent(Model(model), build)

/**
 * A definition: a model, instructions, tools, settings, hooks and limits. It is immutable, remembers nothing of what is
 * said, and is safe to share between users, threads and dispatchers: one agent serves a whole service. What is remembered
 * is a [Conversation].
 *
 * All code of the app in a turn (tools, approver, hooks, store, …) runs in the coroutine context of the caller that waits
 * for the turn or collects it. Cancelling that coroutine cancels the turn: its tools are stopped, its connection is
 * closed, and `join` returns once they have ended.
 *
 * What cannot work, such as an unknown provider or a missing key, fails the first run with [StepwellException.Misuse].
 */
public class Agent internal constructor(internal val engine: Engine, private val deps: Deps = Deps(Unit)) {
    /** The model that answers. */
    public val model: Model get() = engine.model

    /**
     * Asks the model, without any memory, and waits for the complete answer.
     *
     * The [parts] follow the prompt, in order: what [image], [audio], [video], [document] and [file] make, and texts
     * between them. With parts, an empty prompt is left out.
     *
     * Nobody can answer what waits for the user meanwhile: without an approver, tools that need approval are denied, and
     * without an answerer their questions are declined. An AG-UI agent that asks is informed that there is no answer, and
     * if it asks again, the turn is cancelled. The turns of [stream] can be answered. Neither is kept in a store.
     *
     * @throws StepwellException if the answer is incomplete; its subclasses give the reason
     */
    public suspend fun run(
        prompt: String,
        vararg parts: ContentPart,
        options: RunOptions.() -> Unit = {},
    ): TurnResult<String> = once(engine.sent(prompt, parts, options), Answer.Text, isAnswerable = false).result()

    /**
     * Asks the model for an answer of a `@Serializable` type, as the other overload does:
     *
     * ```
     * @Serializable
     * class Trip(val city: String, @Description("At least one.") val days: Int)
     *
     * val trip = agent.run<Trip>("Three days in Norway's rainiest city").output
     * ```
     *
     * An answer that does not fit the type goes back to the model with the path and the reason, twice; then the turn
     * fails.
     *
     * @throws IllegalArgumentException if the type has no schema; see [jsonSchema]. Nothing was sent
     * @throws StepwellException if the answer is incomplete, or does not fit: [StepwellException.OutputInvalid]
     */
    @JvmName("runTyped")
    public suspend inline fun <reified T> run(
        prompt: String,
        vararg parts: ContentPart,
        json: Json = StepwellJson,
        noinline options: RunOptions.() -> Unit = {},
    ): TurnResult<T> = run(prompt, serializer<T>(), *parts, json = json, options = options)

    /** Asks for an answer of the type of a serializer. */
    public suspend fun <T> run(
        prompt: String,
        type: KSerializer<T>,
        vararg parts: ContentPart,
        json: Json = StepwellJson,
        options: RunOptions.() -> Unit = {},
    ): TurnResult<T> = once(engine.sent(prompt, parts, options), Answer.of(type, json), isAnswerable = false).result()

    /** Asks the model, without any memory; the turn begins when it is collected. */
    public fun stream(
        prompt: String,
        vararg parts: ContentPart,
        options: RunOptions.() -> Unit = {},
    ): Turn<String> = once(engine.sent(prompt, parts, options), Answer.Text)

    /** Asks the model for an answer of a `@Serializable` type; the turn begins when it is collected. */
    @JvmName("streamTyped")
    public inline fun <reified T> stream(
        prompt: String,
        vararg parts: ContentPart,
        json: Json = StepwellJson,
        noinline options: RunOptions.() -> Unit = {},
    ): Turn<T> = stream(prompt, serializer<T>(), *parts, json = json, options = options)

    /** Asks for an answer of the type of a serializer. */
    public fun <T> stream(
        prompt: String,
        type: KSerializer<T>,
        vararg parts: ContentPart,
        json: Json = StepwellJson,
        options: RunOptions.() -> Unit = {},
    ): Turn<T> = once(engine.sent(prompt, parts, options), Answer.of(type, json))

    /**
     * Returns the conversation with this id, a new one if absent: what is said in it is remembered, in this process as
     * long as a [Conversation] of this id is held, and in the store, if there is one.
     *
     * A new conversation begins with [history] and with the [sharedState] of an AG-UI agent. The [store] is the agent's
     * if absent.
     *
     * @throws StepwellException.Misuse if the agent cannot work
     */
    public fun conversation(
        id: String = UUID.randomUUID().toString(),
        history: Transcript? = null,
        sharedState: JsonElement? = null,
        store: SessionStore? = null,
    ): Conversation = conversation(ThreadKey(id), history, sharedState, store)

    /** Returns the conversation with this key: one of a user's (`room`), say, whose ids are not unique. */
    public fun conversation(
        key: ThreadKey,
        history: Transcript? = null,
        sharedState: JsonElement? = null,
        store: SessionStore? = null,
    ): Conversation {
        val agent = engine.agent(store)
        val conversation = if (history == null && sharedState == null) {
            agent.conversation(key)
        } else {
            agent.conversationWithHistory(key, (history ?: Transcript()).json, sharedState)
        }
        return Conversation(engine, deps, agent, conversation)
    }

    /**
     * Continues a stored turn, from what [Turn.rested] or [Turn.suspend] returned, in this process or a later one, when
     * it is collected. The result of a deferred call is then passed to [Turn.resolveCall]; the user is asked again for
     * each answer that is missing. Messages of the turn's conversation follow it.
     */
    public fun revive(snapshot: String): Turn<String> =
        Turn(model.provider, Answer.Text, deps, engine::agent) { it.revive(snapshot) }

    /**
     * Revives every unfinished turn of the store that no process drives any more: those that a dead process left, and
     * those that were suspended. Call it when the app starts, and as often as needed after that.
     *
     * The turns belong to the [block], and their code runs in its coroutine context: a turn that is not over when the
     * block returns is cancelled.
     *
     * ```
     * agent.recover { turns -> for (turn in turns.mapNotNull { it.turn }) turn.updates.collect { show(it) } }
     * ```
     */
    public suspend fun <R> recover(store: SessionStore? = null, block: suspend (List<Recovered>) -> R): R =
        engine.agent(store).turnScope(deps) { scoped ->
            val found = scoped.recover().map { found ->
                val turn = found.turn?.let { turn -> Turn(model.provider, Answer.Text, deps, { scoped }) { turn } }
                Recovered(found.key, turn, found.error)
            }
            block(found)
        }

    /** Returns the same agent with another model. */
    public fun withModel(model: Model): Agent = Agent(engine.with(model, engine.configOf(model)), deps)

    /** Reports that the app goes to the background; see [DevicePolicy]. It concerns all turns, also later ones. */
    public fun enteredBackground(): Unit = engine.agent.enteredBackground()

    /** Reports that the app is in the foreground again. */
    public fun enteredForeground(): Unit = engine.agent.enteredForeground()

    /** Reports that the network is gone. */
    public fun networkLost(): Unit = engine.agent.networkLost()

    /** Reports that there is a network, or that another one replaced it. */
    public fun networkAvailable(): Unit = engine.agent.networkAvailable()

    /** Returns the agent for callers that block, and for Java. */
    public fun blocking(): BlockingAgent = BlockingAgent(this)

    /** A turn that remembers nothing; whoever has it can answer what it waits for, unless [isAnswerable] is false. */
    internal fun <T> once(sent: Sent, answer: Answer<T>, isAnswerable: Boolean = true): Turn<T> =
        Turn(model.provider, answer, deps, engine::agent) { sent.to(it, isAnswerable) }

    public companion object {
        /** Begins an agent; for Java. */
        @JvmStatic
        public fun builder(model: Model): AgentBuilder<Unit> = AgentBuilder(model)

        /** Begins an agent with the model that a text such as `openai:gpt-5-mini` names; for Java. */
        @JvmStatic
        public fun builder(model: String): AgentBuilder<Unit> = AgentBuilder(Model(model))
    }
}

/**
 * An unfinished turn of a store.
 *
 * @property key The key of the turn, with that of its conversation.
 * @property turn The turn; null if it cannot continue.
 * @property error Why it cannot: its snapshot cannot be read. It stays unfinished in the store, for a program that can read
 * it, or until a message is sent in its conversation.
 */
public class Recovered internal constructor(
    public val key: TurnKey,
    public val turn: Turn<String>?,
    public val error: String?,
)
