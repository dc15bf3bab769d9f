package dev.stepwell

import dev.stepwell.internal.FfiAgent
import dev.stepwell.internal.FfiConversation
import dev.stepwell.internal.FfiTurn
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.serializer

/**
 * A conversation: what is said in it is in the history of its next turn. [Agent.conversation] makes one.
 *
 * Conversations of one agent with the same id are the same one. Where none of them is held any more, what this process
 * remembered is released; what a store has stays there. [close] releases it at once.
 *
 * A second message while a turn is under way fails with [StepwellException.Busy], unless `whenBusy` says otherwise:
 * [WhenBusy.CANCEL], [WhenBusy.QUEUE] or [WhenBusy.STEER].
 */
public class Conversation internal constructor(
    private val engine: Engine,
    private val deps: Deps,
    private val agent: FfiAgent,
    private val held: FfiConversation,
) : AutoCloseable {
    /** The deps of the tools of a turn that a reply continues in this process. */
    private val continued = if (deps.value == Unit) null else lazy { Caller(deps) }

    /** Takes the replies to what waits. */
    private val replies by lazy {
        continued?.let { agent.within(it.value.id).use { scoped -> scoped.conversation(key) } } ?: held
    }

    /** The conversation's id, with its room and its server: the key that a store has for it. */
    public val key: ThreadKey = held.key()

    /** The conversation's id. */
    public val id: String get() = key.thread

    /** The conversation as it was after the last turn of this process. */
    public val messages: Transcript get() = Transcript(held.messages())

    /** The state shared with an AG-UI agent, as it was after the last turn of this process. */
    public val sharedState: JsonElement get() = held.sharedState()

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
    ): Turn<String> = turn(Answer.Text, engine.sent(prompt, parts, options)::to)

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
    ): Turn<T> = turn(Answer.of(type, json), engine.sent(prompt, parts, options)::to)

    /**
     * Begins a turn with ids and a message that the app makes: with the answers to what an AG-UI agent asked at the end
     * of an earlier turn, say.
     */
    public fun stream(start: Start): Turn<String> = turn(Answer.Text) { it.start(start) }

    /** Begins a turn with an id and a message, under the options of the run; without one it answers the last message. */
    internal fun begin(id: String, message: JsonObject?, options: RunOptions.() -> Unit): Turn<String> {
        val said = RunOptions(engine).apply(options)
        return turn(Answer.Text) { it.start(Start(id, message = message, options = said.made()), said.tools) }
    }

    /**
     * Begins a turn that does not follow the last one: it continues the conversation as of the turn [parent], or is a
     * first one. The turns that followed before stay in the store as another branch. Needs a store.
     */
    public fun branch(parent: String?, start: Start): Turn<String> =
        turn(Answer.Text) { it.branch(parent, start) }

    /**
     * Sends another message instead of the one that a stored turn began with: a new branch, from the conversation before
     * that turn, which stays. Needs a store.
     */
    public fun resend(turn: String, prompt: String, vararg parts: ContentPart): Turn<String> =
        turn(Answer.Text) { it.resend(turn, prompt, parts = parts.asList()) }

    /**
     * Returns what the turn under way waits for, whichever process drives it: the user's approvals and answers, and the
     * results of deferred calls. Empty if no turn is under way.
     */
    public suspend fun pending(): List<Pending> = held.pending()

    /**
     * Allows the call that waits for approval under this [Pending.id], with these [arguments] instead of the model's if
     * there are any. The turn may be one of another process that shares the store; if no process drives it any more, it
     * continues in this one, on `Dispatchers.Default`, and its tools have this conversation's deps until it is closed.
     *
     * @throws StepwellException.Misuse if no approval waits under the id, or the arguments do not fit the tool
     */
    public suspend fun approve(id: String, arguments: JsonObject? = null): Unit = replies.approve(id, arguments)

    /**
     * Denies the call that waits for approval under this [Pending.id], or declines the question. The model, or the tool
     * that asked, gets the [reason].
     */
    public suspend fun deny(id: String, reason: String? = null): Unit = replies.deny(id, reason)

    /** Answers the question of a running tool that waits under this [Pending.id]. The value fits the question's schema. */
    public suspend fun answer(id: String, value: JsonElement): Unit = replies.answer(id, value)

    /** Supplies the result of a deferred call, as [approve] does the approval. */
    public suspend fun resolveCall(toolCallId: String, content: String): Unit = replies.resolveCall(toolCallId, content)

    /** Supplies a result that is more than text: AG-UI content parts, such as pictures. */
    public suspend fun resolveCall(toolCallId: String, parts: JsonArray): Unit = replies.resolveCallParts(toolCallId, parts)

    /** Reports that a deferred call failed; the model is shown the message. */
    public suspend fun failCall(
        toolCallId: String,
        message: String,
        kind: ToolFailureKind = ToolFailureKind.ERROR,
    ): Unit = replies.failCall(toolCallId, message, kind)

    /** Cancels the turn under way, if there is one. */
    public fun cancel(): Unit = held.cancel()

    /**
     * Returns the conversation as the store has it: for one that this process has not sent in yet. From then on
     * [messages] has it too.
     */
    public suspend fun load(): Transcript = Transcript(held.load())

    /** Returns the turns as the store has them, the oldest first; none without a store. */
    internal suspend fun storedTurns(): List<TurnRecord> = held.storedTurns()

    /**
     * Cancels the turn under way, forgets the conversation, and deletes it from the store with all its turns. Returns
     * whether the store had it; without a store, false.
     */
    public suspend fun delete(): Boolean = held.delete()

    /** Releases the conversation. A turn that is being collected still comes to its end. */
    override fun close() {
        held.close()
        if (continued?.isInitialized() != true) return
        continued.value.forget()
        replies.close()
    }

    private fun <T> turn(answer: Answer<T>, begin: suspend (FfiConversation) -> FfiTurn): Turn<T> =
        Turn(engine.model.provider, answer, deps, { agent }) { scoped ->
            // Refuses where the conversation is closed.
            scoped.conversation(held.key()).use { begin(it) }
        }
}
