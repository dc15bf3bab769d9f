package dev.stepwell

import java.util.concurrent.CompletableFuture
import java.util.function.Consumer
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.future.future
import kotlinx.coroutines.runBlocking

/**
 * An agent for callers that block their thread, and for Java: [Agent.blocking]. Its tools run on `Dispatchers.Default`,
 * unless [AgentBuilder.context] says otherwise.
 */
public class BlockingAgent internal constructor(private val agent: Agent) {
    /**
     * Asks the model, without any memory, and waits for the complete answer. Interrupting the thread cancels the turn.
     *
     * @throws StepwellException if the answer is incomplete
     */
    @JvmOverloads
    public fun run(prompt: String, options: Consumer<RunOptions> = NONE): TurnResult<String> =
        blocked { agent.run(prompt) { options.accept(this) } }

    /** Asks the model, as [run] does, on another thread. Cancelling the future cancels the turn. */
    @JvmOverloads
    public fun runAsync(prompt: String, options: Consumer<RunOptions> = NONE): CompletableFuture<TurnResult<String>> =
        CoroutineScope(Dispatchers.Default).future { agent.run(prompt) { options.accept(this) } }

    /** Asks the model, passes on what happens, and waits for the complete answer. */
    @JvmOverloads
    public fun stream(
        prompt: String,
        onUpdate: Consumer<Update>,
        options: Consumer<RunOptions> = NONE,
    ): TurnResult<String> = blocked {
        val sent = agent.engine.sent(prompt, emptyArray()) { options.accept(this) }
        agent.once(sent, Answer.Text, isAnswerable = false).shownTo(onUpdate)
    }

    /** Returns the conversation with this id; see [Agent.conversation]. */
    @JvmOverloads
    public fun conversation(id: String, history: Transcript? = null, store: SessionStore? = null): BlockingConversation =
        BlockingConversation(agent.conversation(id, history, store = store))
}

/** A conversation for callers that block their thread, and for Java. */
public class BlockingConversation internal constructor(
    /** The same for coroutines. */
    public val conversation: Conversation,
) : AutoCloseable {
    /**
     * Sends a message, and waits for the complete answer. Interrupting the thread cancels the turn.
     *
     * @throws StepwellException if the answer is incomplete
     */
    @JvmOverloads
    public fun send(prompt: String, options: Consumer<RunOptions> = NONE): TurnResult<String> =
        blocked { conversation.send(prompt) { options.accept(this) } }

    /** Sends a message, passes on what happens, and waits for the complete answer. */
    @JvmOverloads
    public fun stream(
        prompt: String,
        onUpdate: Consumer<Update>,
        options: Consumer<RunOptions> = NONE,
    ): TurnResult<String> = blocked { conversation.stream(prompt) { options.accept(this) }.shownTo(onUpdate) }

    override fun close(): Unit = conversation.close()
}

private val NONE = Consumer<RunOptions> {}

private fun <T> blocked(turn: suspend () -> T): T = runBlocking(Dispatchers.Default) { turn() }

private suspend fun Turn<String>.shownTo(onUpdate: Consumer<Update>): TurnResult<String> {
    updates.collect { onUpdate.accept(it) }
    return result()
}
