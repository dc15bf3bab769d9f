package dev.stepwell

import dev.stepwell.internal.FfiAgent
import dev.stepwell.internal.FfiConversation
import dev.stepwell.internal.FfiTurn
import dev.stepwell.internal.Finished
import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.mapNotNull
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

/**
 * A turn: one message of the user, and all that the model and its tools do about it. It begins when [updates] are
 * collected, or when [result] is called, and it belongs to the coroutine that does so.
 *
 * ```
 * val turn = agent.stream("Tell me a story")
 * turn.textStream.collect { print(it) }
 * println(turn.result().usage)
 * ```
 *
 * The verbs are for other coroutines while the turn is under way. Before it begins they wait for it.
 */
public class Turn<out T> internal constructor(
    private val provider: String,
    private val answer: Answer<T>,
    private val deps: Deps,
    private val agent: () -> FfiAgent,
    private val begin: suspend (FfiAgent) -> FfiTurn,
) {
    private val growing = answer.growing()
    private val isTaken = AtomicBoolean(false)
    private val begun = CompletableDeferred<FfiTurn>()
    private val ended = CompletableDeferred<TurnResult<@UnsafeVariance T>>()

    /** The same as `begun`, while it is under way. */
    @Volatile
    private var current: FfiTurn? = null

    /** The same as `ended`, where it is a result. */
    @Volatile
    private var whole: TurnResult<@UnsafeVariance T>? = null

    @Volatile
    private var isCancelled = false

    /** Is completed when a call of [suspend] has ended. */
    @Volatile
    private var suspending: CompletableDeferred<Unit>? = null

    @Volatile
    internal var isSuspended = false
        private set

    /**
     * What happens in the turn, until it is over. The flow throws a [StepwellException] if the turn fails. It can be
     * collected once; leaving it early cancels the turn.
     */
    public val updates: Flow<Update> = flow {
        drive { batch -> for (event in batch) event.update()?.let { emit(it) } }
    }

    /** The text as it comes, instead of the [updates]: those that are text. */
    public val textStream: Flow<String> = updates.mapNotNull { (it as? Update.Text)?.delta }

    /**
     * The answer as it comes, instead of the [updates]: the [partialOutput] each time that it has grown, and the complete
     * answer at the end.
     *
     * ```
     * agent.stream<Trip>("Three days in Bergen").partials.collect { trip -> show(trip) }
     * ```
     */
    public val partials: Flow<T> = flow {
        drive { batch -> if (batch.any(growing::isPartOf)) partialOutput?.let { emit(it) } }
        if (!isSuspended) emit(result().output)
    }

    /**
     * The answer so far, while the updates are collected; the complete answer after them. No value is checked yet, and
     * texts in it may still grow. What has not come has its property's default, or is null if it may be; while a property
     * that needs a value has none, the answer so far is null.
     */
    public val partialOutput: T? get() = whole?.output ?: growing.value()

    /**
     * What happens in the turn as events, instead of the [updates]: as AG-UI and the JSON API have it, with the turn's end
     * as [Event.Completed]. For a backend that passes them on, with [Event.toJson].
     */
    public val events: Flow<Event> = flow { drive { batch -> for (event in batch) emit(event) } }

    /**
     * Waits for the end of the turn. If no coroutine has collected the [updates], the turn begins here. The result can be
     * had any number of times.
     *
     * @throws StepwellException if the answer is incomplete; its subclasses give the reason
     */
    public suspend fun result(): TurnResult<T> {
        if (isTaken.compareAndSet(false, true)) driven({}, null)
        return ended.await()
    }

    /** Drives the turn as a collector of [updates] does, from [begun] on; the events come in batches, for a screen. */
    internal suspend fun follow(begun: suspend (FfiTurn) -> Unit, show: suspend (List<Event>) -> Unit): Unit =
        drive(begun, show)

    private suspend fun drive(begun: suspend (FfiTurn) -> Unit = {}, show: suspend (List<Event>) -> Unit) {
        if (!isTaken.compareAndSet(false, true)) {
            throw StepwellException.Misuse("the turn's updates were taken before", "keep what they gave, or call `result`")
        }
        driven(begun, show)
    }

    private suspend fun driven(first: suspend (FfiTurn) -> Unit, show: (suspend (List<Event>) -> Unit)?) {
        try {
            val fault = TurnFault { current?.cancel() }
            val finished = try {
                agent().turnScope(deps + fault) { scoped ->
                    answer.asked(scoped) { begin(it).use { turn -> turn.taken(first, show) } }
                }
            } finally {
                current = null
            }
            if (finished == null) {
                val words = "the turn was suspended" to "revive it by what `suspend` returned"
                ended.completeExceptionally(StepwellException.Misuse(words.first, words.second))
            } else {
                ended.complete(whole(finished, fault.failed).also { whole = it })
            }
        } catch (failed: Throwable) {
            // Other coroutines that wait for the turn are not cancelled themselves.
            val told = failed as? StepwellException ?: left()
            begun.completeExceptionally(told)
            ended.completeExceptionally(told)
            throw failed
        }
    }

    /** Shows what happens in a turn, and returns what it came to; null if it was suspended. */
    private suspend fun FfiTurn.taken(
        first: suspend (FfiTurn) -> Unit,
        show: (suspend (List<Event>) -> Unit)?,
    ): Finished? {
        current = this
        this@Turn.begun.complete(this)
        if (isCancelled) cancel()
        first(this)
        if (show != null) {
            while (true) {
                val events = nextBatch()
                if (events.isEmpty()) break
                for (event in events) growing.take(event)
                show(events)
            }
        }
        // Ending here would cancel the turn that is being suspended.
        suspending?.await()
        return if (isSuspended) null else finish()
    }

    private fun whole(finished: Finished, fault: FailedTurn?): TurnResult<T> {
        val found = fault?.problem ?: problemOf(finished.outcome) ?: return TurnResult.of(finished, answer::read)
        val problem = found.run { Problem(kind, message, advice, status, finished.model, retryable) }
        throw FailedTurn(problem, finished.model?.provider ?: provider, TurnResult.of(finished) { _, _ -> null }, fault?.cause).asException()
    }

    private fun left(): StepwellException {
        val message = "the turn was cancelled: the coroutine that it belonged to ended"
        return FailedTurn(problemWithoutModel(ErrorKind.CANCELLED, message, "begin another turn"), provider).asException()
    }

    /** Stops the turn and its tools, and closes its connection: it fails with [StepwellException.Cancelled]. */
    public fun cancel() {
        isCancelled = true
        try {
            current?.cancel()
        } catch (closed: IllegalStateException) {
            // It is over.
        }
    }

    /** Stops one tool call. The other calls continue, and the model is informed. */
    public suspend fun cancelCall(toolCallId: String): Unit = underWay { cancelCall(toolCallId) }

    /**
     * Supplies the result of a tool call: of a deferred call, also in a turn that was revived, or of a call that still
     * runs, which is then stopped.
     */
    public suspend fun resolveCall(toolCallId: String, content: String): Unit = underWay { resolveCall(toolCallId, content) }

    /** Supplies a result that is more than text: AG-UI content parts, such as pictures. */
    public suspend fun resolveCall(toolCallId: String, parts: JsonArray): Unit =
        underWay { resolveCallParts(toolCallId, parts) }

    /** Reports that a call failed; the model is shown the message. */
    public suspend fun failCall(
        toolCallId: String,
        message: String,
        kind: ToolFailureKind = ToolFailureKind.ERROR,
    ): Unit = underWay { failCall(toolCallId, message, kind) }

    /**
     * Returns what the turn waits for: the user's approvals and answers, and the results of deferred calls.
     * [Update.Pending] reports each change.
     */
    public suspend fun pending(): List<Pending> = underWay { pending() }

    /**
     * Allows the call that waits for approval under this [Pending.id], with these [arguments] instead of the model's if
     * there are any. The model is informed of a change.
     */
    public suspend fun approve(id: String, arguments: JsonObject? = null): Unit = underWay { approve(id, arguments) }

    /**
     * Denies the call that waits for approval under this [Pending.id], or declines the question. The model, or the tool
     * that asked, gets the [reason].
     */
    public suspend fun deny(id: String, reason: String? = null): Unit = underWay { deny(id, reason) }

    /** Answers the question of a running tool that waits under this [Pending.id]. The value fits the question's schema. */
    public suspend fun answer(id: String, value: JsonElement): Unit = underWay { answer(id, value) }

    /**
     * Sends a message during the turn, without stopping it: the model answers it in this turn, from the next hop on.
     * Returns the message's id. [Update.SteeringTaken] reports that the message is in the conversation;
     * [Update.SteeringRefused] returns it if the turn cannot take it.
     */
    public suspend fun steer(text: String, vararg parts: ContentPart): String = underWay { steer(text, parts.asList()) }

    /** Sends an AG-UI message during the turn. */
    public suspend fun steer(message: JsonObject): Unit = underWay { steerMessage(message) }

    /** Answers all questions that an AG-UI agent asked with [Update.Interrupted], at once; the turn continues. */
    public suspend fun resume(answers: List<ResumeEntry>): Unit = underWay { resume(answers) }

    /**
     * Releases the turn without ending it, and returns it as text for [Agent.revive]. Its stream is closed, its tools are
     * stopped, and its updates end: best done once it has [rested]. What the user typed and the turn had not taken is
     * dropped. A turn whose [result] is waited for without its updates runs to its end, and cannot be suspended.
     */
    public suspend fun suspend(): String = underWay {
        val over = CompletableDeferred<Unit>()
        suspending = over
        try {
            suspend().also { isSuspended = true }
        } finally {
            over.complete(Unit)
        }
    }

    /**
     * Waits until the turn is idle: only the user, or the result of a deferred call, can continue it. Returns its
     * [snapshot].
     */
    public suspend fun rested(): String = underWay { rested() }

    /**
     * Returns the turn as it is now, as text for [Agent.revive]. The text holds no key. A turn that continues after its
     * snapshot was taken may run tools that the snapshot does not know: prefer [rested].
     */
    public suspend fun snapshot(): String = underWay { snapshot() }

    /** Waits until the turn has begun, or has failed to: with a store, it is in the store then. */
    public suspend fun begun(): Unit = underWay { begun() }

    /** Returns the key that the turn has in its store, once it has [begun] there; null without a store. */
    public suspend fun stored(): TurnKey? = underWay { stored()?.key }

    /**
     * Returns what delays the turn's writes: a store that is full, read-only, or unreachable. Null while there is no
     * delay, which [Update.Warning] reports.
     */
    public suspend fun storeTrouble(): String? = underWay { storeTrouble() }

    /** Returns the conversation from which a revived turn continued; null for a new turn. */
    public suspend fun revivedFrom(): Transcript? = underWay { revivedFrom()?.let { Transcript(it) } }

    /** Returns the conversation in the middle of the turn. */
    public suspend fun messages(): Transcript = underWay { Transcript(messages()) }

    /** Returns the state shared with an AG-UI agent in the middle of the turn. */
    public suspend fun sharedState(): JsonElement = underWay { sharedState() }

    /** Returns what an AG-UI agent asks the user now, to be answered with [resume]. */
    public suspend fun interrupts(): List<Interrupt> = underWay { interrupts() }

    /** Returns what the turn has cost so far, over all its hops. */
    public suspend fun usage(): TokenUsage = underWay { usage() }

    private suspend fun <R> underWay(call: suspend FfiTurn.() -> R): R {
        val turn = begun.await()
        try {
            return turn.call()
        } catch (cancelled: CancellationException) {
            throw cancelled
        } catch (closed: IllegalStateException) {
            throw StepwellException.Misuse("the turn is over", "begin another turn")
        }
    }
}

/** The event as JSON: one of AG-UI in AG-UI's form, with its `type` in capitals. */
public fun Event.toJson(): JsonElement = eventToJson(this)

/** What kept the turn from a complete answer; null if the answer is complete. */
public val Outcome.problem: Problem? get() = problemOf(this)

/**
 * The newest messages that fill no more than this part of the room, for [Trimmed.keep]: half of it leaves room to
 * continue for a while.
 */
public fun ContextOverflow.newest(part: Double): List<String> = newestMessages(this, part)

/** A message as it is sent, under the options of its run. */
internal class Sent(
    private val prompt: String,
    private val parts: List<ContentPart>,
    private val options: RunOptions,
) {
    /** Begins a turn of a conversation with it. */
    fun to(conversation: FfiConversation): FfiTurn =
        conversation.send(prompt, options.made(), options.tools, parts)

    /** Begins a turn that remembers nothing; what would wait for a user that nobody can ask is denied. */
    fun to(agent: FfiAgent, isAnswerable: Boolean): FfiTurn {
        val start = Start(UUID.randomUUID().toString(), text = prompt, options = options.made(), parts = parts)
        return agent.start(start, options.tools, isAnswerable = isAnswerable)
    }
}

/** A message with its options. */
internal fun Engine.sent(prompt: String, parts: Array<out ContentPart>, options: RunOptions.() -> Unit): Sent =
    Sent(prompt, parts.asList(), RunOptions(this).apply(options))
