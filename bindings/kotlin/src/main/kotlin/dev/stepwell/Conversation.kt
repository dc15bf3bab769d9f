package dev.stepwell

import dev.stepwell.internal.FfiAgent
import dev.stepwell.internal.FfiTurn
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.serializer

/**
 * A conversation: what is said in it is in the history of its next turn. [Agent.conversation] makes one.
 *
 * Conversations of one agent with the same id are the same one. Where none of them is held any more, what this process
 * remembered is released; what a store has stays there. [close] releases it at once.
 *
 * A second message while a turn is under way fails with [StepwellException.Busy], unless `whenBusy` is [WhenBusy.CANCEL].
 */
public class Conversation internal constructor(
    private val engine: Engine,
    private val deps: Deps,
    private val agent: FfiAgent,
    private val thread: FfiAgent,
) : AutoCloseable {
    /** The conversation's id, with its room and its server: the key that a store has for it. */
    public val key: ThreadKey = thread.threadKey()

    /** The conversation's id. */
    public val id: String get() = key.thread

    /** The conversation as it was after the last turn of this process. */
    public val messages: Transcript get() = Transcript(thread.messages())

    /** The state shared with an AG-UI agent, as it was after the last turn of this process. */
    public val sharedState: JsonElement get() = thread.sharedState()

    /**
     * Sends a message to the model, and waits for its complete answer; see [Agent.run].
     *
     * @throws StepwellException if the answer is incomplete; its subclasses give the reason
     */
    public suspend fun send(
        prompt: String,
        vararg parts: ContentPart,
        options: RunOptions.() -> Unit = {},
    ): TurnResult<String> = stream(prompt, *parts, options = options).result()

    /** Sends a message, and waits for an answer of a `@Serializable` type. */
    @JvmName("sendTyped")
    public suspend inline fun <reified T> send(
        prompt: String,
        vararg parts: ContentPart,
        json: Json = StepwellJson,
        noinline options: RunOptions.() -> Unit = {},
    ): TurnResult<T> = stream(prompt, serializer<T>(), *parts, json = json, options = options).result()

    /** Sends a message to the model when the turn is collected. */
    public fun stream(
        prompt: String,
        vararg parts: ContentPart,
        options: RunOptions.() -> Unit = {},
    ): Turn<String> = turn(Answer.Text, engine.asked(prompt, parts, options))

    /** Sends a message, for an answer of a `@Serializable` type, when the turn is collected. */
    @JvmName("streamTyped")
    public inline fun <reified T> stream(
        prompt: String,
        vararg parts: ContentPart,
        json: Json = StepwellJson,
        noinline options: RunOptions.() -> Unit = {},
    ): Turn<T> = stream(prompt, serializer<T>(), *parts, json = json, options = options)

    /** Sends a message, for an answer of the type of a serializer. */
    public fun <T> stream(
        prompt: String,
        type: KSerializer<T>,
        vararg parts: ContentPart,
        json: Json = StepwellJson,
        options: RunOptions.() -> Unit = {},
    ): Turn<T> = turn(Answer.of(type, json), engine.asked(prompt, parts, options))

    /**
     * Begins a turn with ids and a message that the app makes: with the answers to what an AG-UI agent asked at the end
     * of an earlier turn, say.
     */
    public fun stream(start: Start): Turn<String> = turn(Answer.Text) { it.start(start, emptyList()) }

    /**
     * Begins a turn that does not follow the last one: it continues the conversation as of the turn [parent], or is a
     * first one. The turns that followed before stay in the store as another branch. Needs a store.
     */
    public fun branch(parent: String?, start: Start): Turn<String> =
        turn(Answer.Text) { it.branch(parent, start, emptyList()) }

    /**
     * Sends another message instead of the one that a stored turn began with: a new branch, from the conversation before
     * that turn, which stays. Needs a store.
     */
    public fun resend(turn: String, prompt: String, vararg parts: ContentPart): Turn<String> =
        turn(Answer.Text) { it.resend(turn, prompt, parts.asList()) }

    /** Cancels the turn under way, if there is one. */
    public fun cancel(): Unit = thread.cancel()

    /**
     * Returns the conversation as the store has it: for one that this process has not sent in yet. From then on
     * [messages] has it too.
     */
    public suspend fun load(): Transcript = Transcript(thread.load())

    /**
     * Cancels the turn under way, forgets the conversation, and deletes it from the store with all its turns. Returns
     * whether the store had it; without a store, false.
     */
    public suspend fun delete(): Boolean = agent.deleteThread(key)

    /** Releases the conversation. A turn that is being collected still comes to its end. */
    override fun close(): Unit = thread.close()

    private fun <T> turn(answer: Answer<T>, begin: suspend (FfiAgent) -> FfiTurn): Turn<T> =
        engine.turn(begin, answer, deps) { HeldThread(thread) { engine.read(agent, key) } }
}
