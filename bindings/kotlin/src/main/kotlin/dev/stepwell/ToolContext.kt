package dev.stepwell

import dev.stepwell.internal.FfiToolContext
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext

/**
 * What a running tool can do besides returning its result: report its progress, show what it has so far, ask the user.
 *
 * @param D The type of the agent's [deps]; see [AgentWithDeps].
 * @property deps The app's own value of this run: a database, the signed-in user, a client; [Unit] if the agent has none.
 */
public class ToolContext<out D> internal constructor(private val context: FfiToolContext, public val deps: D) {
    /** The call: its arguments, its id, the thread, the turn, the run and the attempt. */
    public val invocation: ToolInvocation by lazy { context.invocation() }

    /** Whether the result is no longer wanted: the call was cancelled, ran out of time, or is over. */
    public val isCancelled: Boolean get() = context.isCancelled()

    /**
     * Reports the call's progress: from 0 to 1, if that is known, and what the call is doing; [Update.ToolProgress] shows
     * it. For an app that is too slow to show every report, only the last is shown.
     */
    public fun report(fraction: Double? = null, message: String = ""): Unit = context.report(fraction, message)

    /**
     * Shows a partial result, text or JSON as text, which replaces the previous one: [Update.ToolPartialResult]. The
     * model gets only the final result. A partial result of more than 256 KiB is not shown.
     */
    public fun partial(content: String): Unit = context.partial(content)

    /**
     * Asks the user, by the agent's answerer, and waits for the answer, which fits the question's schema. Without an
     * answerer the question waits for [Turn.answer]; when [Timeouts.approval] is over, it is declined. The tool's own clock is paused meanwhile.
     *
     * An idempotent tool that is run again after a crash and asks the same question gets the earlier answer.
     *
     * @throws StepwellException.Misuse if the question's schema is none
     */
    public suspend fun ask(question: Question): UserAnswer = context.ask(question)
}

/** The value that a run gives its tools, in the coroutine context of their code. */
internal class Deps(val value: Any?) : AbstractCoroutineContextElement(Deps) {
    companion object Key : CoroutineContext.Key<Deps>
}
