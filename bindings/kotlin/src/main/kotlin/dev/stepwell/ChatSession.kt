package dev.stepwell

import dev.stepwell.internal.FfiTurn
import java.time.Instant
import java.util.UUID
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/**
 * A conversation as a chat screen needs it: [state] is what the screen shows, and the functions are what the user does.
 *
 * ```
 * class ChatModel(agent: Agent) : ViewModel() {
 *     val chat = ChatSession(agent.conversation("chat"))
 *
 *     fun send(text: String) = viewModelScope.launch { chat.send(text) }
 * }
 * ```
 *
 * One session drives a conversation, and belongs to no platform. An agent without an approver and an answerer has its
 * approvals and questions in the state's `pending`, for [approve], [deny] and [answer].
 *
 * @property conversation The conversation.
 */
public class ChatSession(public val conversation: Conversation) : AutoCloseable {
    private val lock = Any()
    private var reducer = ChatReducer.fromMessages(conversation.messages.json)
    private val states = MutableStateFlow(reducer.state())
    private var turn: Turn<String>? = null

    /** The problem of a turn that failed without an outcome. */
    private var problem: ChatProblem? = null

    /** What a turn of another process waits for. */
    private var elsewhere = emptyList<Pending>()

    /** The answers to an AG-UI agent, until there are all of them. */
    private val answers = mutableMapOf<String, ResumeEntry>()

    /** What the screen shows. */
    public val state: StateFlow<ChatState> = states.asStateFlow()

    /**
     * Loads the conversation from its store: its messages, its tools' cards, and what its turn waits for, as they were
     * shown. Nothing happens without a store, or while a turn is under way. A turn that is answered before it is [follow]ed
     * continues unseen.
     *
     * @throws StepwellException.Store if it cannot be read
     */
    public suspend fun load() {
        conversation.load()
        val turns = conversation.storedTurns()
        if (turns.isEmpty()) return
        synchronized(lock) {
            if (turn != null) return
            restart(ChatReducer(turns))
            elsewhere = states.value.pending
            show()
        }
    }

    private fun restart(other: ChatReducer) {
        reducer.close()
        reducer = other
        states.value = reducer.state()
    }

    /**
     * Sends a message, and returns the result of the turn, or null if it failed or was cancelled: the state then has the
     * `problem`. The turn belongs to the calling coroutine: cancelling that cancels the turn.
     *
     * @throws StepwellException.Busy while another turn of the session is under way: [steer] sends a message during one
     */
    public suspend fun send(
        prompt: String,
        vararg parts: ContentPart,
        options: RunOptions.() -> Unit = {},
    ): TurnResult<String>? = begin(contentOf(prompt, parts), options)

    /**
     * Sends the last message again after a failed turn. The part of the answer that arrived stays; a message that was
     * not answered at all is there once.
     *
     * @throws StepwellException.Busy while another turn of the session is under way
     * @throws StepwellException.Misuse if there is no message
     */
    public suspend fun retry(options: RunOptions.() -> Unit = {}): TurnResult<String>? {
        val messages = conversation.messages
        if (messages.lastOrNull() is UserMessage) return begin(null, options)
        val last = messages.lastOrNull { it is UserMessage }
            ?: throw StepwellException.Misuse("there is no message to send again", "call `send` first")
        return begin(last.json.getValue("content"), options)
    }

    private suspend fun begin(content: JsonElement?, options: RunOptions.() -> Unit): TurnResult<String>? {
        val id = UUID.randomUUID().toString()
        val message = content?.let { userMessage("$id-user", it) }
        return follow(conversation.begin(id, message, options), { it.begin(id, message, Instant.now()) }) {}
    }

    /**
     * Shows a turn of this conversation that was not begun here: one of [Agent.recover] or [Agent.revive]. [load] the
     * session first.
     *
     * @throws StepwellException.Busy while another turn of the session is under way
     */
    public suspend fun follow(turn: Turn<String>): TurnResult<String>? = follow(turn, {}) { begun ->
        begun.begun()
        val history = begun.revivedFrom()?.let { Transcript(it) } ?: conversation.messages
        val id = begun.stored()?.key?.turn ?: UUID.randomUUID().toString()
        synchronized(lock) { restart(ChatReducer.fromMessages(history.json)) }
        change { it.begin(id, null, Instant.now()) }
    }

    private suspend fun follow(
        turn: Turn<String>,
        begin: (ChatReducer) -> Unit,
        begun: suspend (FfiTurn) -> Unit,
    ): TurnResult<String>? {
        change {
            if (this.turn != null) throw busy()
            begin(it)
            this.turn = turn
            problem = null
            elsewhere = emptyList()
        }
        var failed: StepwellException? = null
        try {
            turn.follow(begun) { events ->
                // The end is shown once another message can be sent.
                val isOver = events.any { it is Event.Completed }
                synchronized(lock) { reducer.apply(events, Instant.now()).also { if (!isOver) show() } }
            }
            if (turn.isSuspended) return null
            val result = turn.result()
            change { it.setUsage(result.usage) }
            return result
        } catch (thrown: StepwellException) {
            failed = thrown
            return null
        } finally {
            change {
                end(it, failed)
                this.turn = null
                answers.clear()
            }
        }
    }

    /** Ends a turn whose last event did not come. */
    private fun end(reducer: ChatReducer, failed: StepwellException?) {
        failed?.result?.let { reducer.setUsage(it.usage) }
        if (reducer.state().status.isBusy) {
            val status = if (failed == null || failed is StepwellException.Cancelled) TurnStatus.CANCELLED else TurnStatus.FAILED
            reducer.end(status, failed?.result?.outcome)
        }
        if (failed == null || failed is StepwellException.Cancelled) return
        problem = failed.run { ChatProblem(problem.kind, message, advice, retryable, status) }
    }

    /** Stops the turn under way, if there is one. What has arrived stays. */
    public fun cancel() {
        synchronized(lock) { turn }?.cancel()
    }

    /**
     * Leaves the turn under way to its store: [Agent.recover] continues it, in this process or a later one. Nothing happens
     * without a turn.
     */
    public suspend fun suspend() {
        try {
            synchronized(lock) { turn }?.suspend()
        } catch (over: StepwellException.Misuse) {
            // It has just ended.
        }
    }

    /**
     * Sends a message during the turn, without stopping it. It is shown once the turn takes it.
     *
     * @throws StepwellException.Misuse if no turn is under way
     */
    public suspend fun steer(prompt: String, vararg parts: ContentPart) {
        val turn = synchronized(lock) { turn } ?: throw StepwellException.Misuse("no turn is under way", "call `send`")
        val message = userMessage(UUID.randomUUID().toString(), contentOf(prompt, parts))
        change { it.steer(message) }
        turn.steer(message)
    }

    /** Allows the call that waits under this [Pending.id], with these [arguments] instead of the model's if there are any. */
    public suspend fun approve(id: String, arguments: JsonObject? = null) {
        val turn = synchronized(lock) { turn }
        if (turn != null) return turn.approve(id, arguments)
        conversation.approve(id, arguments)
        settle(id)
    }

    /**
     * Denies what waits under the id: a call, with a [reason] for the model; a question of a tool, which gets the reason;
     * an interrupt of an AG-UI agent.
     */
    public suspend fun deny(id: String, reason: String? = null) {
        val turn = synchronized(lock) { turn }
        when {
            isInterrupt(id) -> resume(turn, ResumeEntry(id, ResumeStatus.CANCELLED))
            turn != null -> turn.deny(id, reason)
            else -> {
                conversation.deny(id, reason)
                settle(id)
            }
        }
    }

    /** Answers what waits under the id: a question of a tool, or an interrupt of an AG-UI agent. The value fits its schema. */
    public suspend fun answer(id: String, value: JsonElement) {
        val turn = synchronized(lock) { turn }
        when {
            isInterrupt(id) -> resume(turn, ResumeEntry(id, ResumeStatus.RESOLVED, value))
            turn != null -> turn.answer(id, value)
            else -> {
                conversation.answer(id, value)
                settle(id)
            }
        }
    }

    /** What waited in another process has its answer. */
    private fun settle(id: String): Unit = change { elsewhere = elsewhere.filter { it.id != id } }

    private fun isInterrupt(id: String): Boolean = state.value.interrupts.any { it.id == id }

    /** An agent takes the answers to all its interrupts at once. */
    private suspend fun resume(turn: Turn<String>?, answer: ResumeEntry) {
        if (turn == null) throw StepwellException.Misuse("no turn waits for this answer", "call `send`")
        val asked = turn.interrupts()
        val given = mutableListOf<ResumeEntry>()
        change {
            answers[answer.interruptId] = answer
            given += asked.mapNotNull { answers[it.id] }
        }
        if (given.size == asked.size) turn.resume(given)
    }

    /** Releases the session, and cancels its turn. The conversation stays. */
    override fun close() {
        cancel()
        synchronized(lock) { reducer.close() }
    }

    /** Changes what the screen shows. */
    private fun change(code: (ChatReducer) -> Unit): Unit = synchronized(lock) {
        code(reducer)
        show()
    }

    private fun show() {
        val update = reducer.takeUpdate()
        val shown = if (update == null) states.value else states.value.with(update)
        val open = shown.interrupts.filter { it.id !in answers }
        val ended = problem?.takeIf { turn == null && shown.problem == null }
        states.value = shown.copy(
            status = when {
                ended != null -> ChatStatus.ERROR
                elsewhere.any { it.kind != PendingKind.RESULT } -> ChatStatus.WAITING_FOR_USER
                // What waited in another process has its reply.
                turn == null && shown.status == ChatStatus.WAITING_FOR_USER -> ChatStatus.READY
                else -> shown.status
            },
            problem = ended ?: shown.problem,
            pending = if (turn == null) elsewhere else shown.pending,
            interrupts = open,
        )
    }

    private fun busy(): StepwellException = StepwellException.Busy(
        FailedTurn(
            problemWithoutModel(
                ErrorKind.BUSY,
                "a turn of this chat is under way",
                "wait for it, call `cancel`, or send the message by `steer`",
            ),
        ),
    )
}

/** Whether a turn is under way. */
public val ChatStatus.isBusy: Boolean get() = this != ChatStatus.READY && this != ChatStatus.ERROR

/** The state after an update. */
private fun ChatState.with(update: ChatUpdate): ChatState {
    val changed = update.messages.associateByTo(LinkedHashMap()) { it.id }
    val all = messages.map { changed.remove(it.id) ?: it } + changed.values
    val shown = update.order?.let { order ->
        val known = all.associateBy { it.id }
        order.mapNotNull(known::get)
    }
    return ChatState(
        revision = update.revision,
        status = update.status,
        connection = update.connection,
        problem = update.problem,
        pending = update.pending,
        interrupts = update.interrupts,
        usage = update.usage,
        omittedMessages = update.omittedMessages,
        compaction = update.compaction,
        messages = shown ?: all,
    )
}

private fun contentOf(prompt: String, parts: Array<out ContentPart>): JsonElement {
    if (parts.isEmpty()) return JsonPrimitive(prompt)
    val text = JsonObject(mapOf("type" to JsonPrimitive("text"), "text" to JsonPrimitive(prompt)))
    return JsonArray(listOfNotNull(text.takeIf { prompt.isNotEmpty() }) + parts.map { it.json })
}

private fun userMessage(id: String, content: JsonElement): JsonObject =
    JsonObject(mapOf("id" to JsonPrimitive(id), "role" to JsonPrimitive("user"), "content" to content))
