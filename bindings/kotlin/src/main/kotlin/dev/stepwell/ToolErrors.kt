package dev.stepwell

import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext

/** The first exception of a tool that ends its turn, in the coroutine context of the turn's code. */
internal class TurnFault(private val cancel: () -> Unit) : AbstractCoroutineContextElement(TurnFault) {
    /** What the turn fails with. */
    @Volatile
    var failed: FailedTurn? = null
        private set

    fun tool(name: String, thrown: Throwable) {
        synchronized(this) {
            if (failed != null) return
            val kind = thrown::class.simpleName ?: thrown.javaClass.name
            val problem = problemWithoutModel(ErrorKind.TOOL_FAILED, "the tool `$name` failed: $kind", ADVICE)
            failed = FailedTurn(problem, cause = thrown)
        }
        cancel()
    }

    companion object Key : CoroutineContext.Key<TurnFault> {
        private const val ADVICE = "see the `cause`; `onToolError` says what becomes of a tool's exceptions"
    }
}
