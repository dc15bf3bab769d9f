package dev.stepwell

import dev.stepwell.internal.CallbackException
import java.util.logging.Level
import java.util.logging.Logger
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.withContext

/** Calls code of the app: with its context, and the handler of its exceptions. */
internal class AppCode {
    var context: CoroutineContext = EmptyCoroutineContext
    var onError: ((Throwable) -> Unit)? = null
    var onToolError: OnToolError = OnToolError.TELL_MODEL

    /** Runs code, reports its exception, and passes that on. */
    suspend fun <T> run(code: suspend () -> T): T =
        withContext(context) {
            try {
                code()
            } catch (failed: Throwable) {
                // Outside the context the exception may be a copy.
                report(failed)
                throw crossing(failed)
            }
        }

    /** Runs code as [run] does; the message of its exception fails the turn. */
    suspend fun <T> told(code: suspend () -> T): T =
        try {
            run(code)
        } catch (cancelled: CancellationException) {
            throw cancelled
        } catch (failed: Exception) {
            throw CallbackException.Failed(failed.message ?: failed.toString())
        }

    fun report(failed: Throwable) {
        when (failed) {
            // An intended exception, which its receiver handles.
            is CancellationException, is ToolException, is CallbackException, is StoreException, is HookRefusal -> return
            else -> try {
                onError?.invoke(failed) ?: log.log(Level.WARNING, "the app's code for a turn failed", failed)
            } catch (broken: Throwable) {
                log.log(Level.SEVERE, "the app's code for errors failed", broken)
            }
        }
    }

    companion object {
        private val log: Logger = Logger.getLogger("dev.stepwell")

        /** Passes exceptions alone to Rust: an error left alone would never answer, and the turn would wait. */
        fun crossing(failed: Throwable): Exception =
            failed as? Exception ?: IllegalStateException(wordsOf(failed), failed)

        /** The text of an exception for the model or the log. */
        fun wordsOf(failed: Throwable): String {
            val name = failed::class.simpleName ?: failed.javaClass.name
            return failed.message?.let { "$name: $it" } ?: name
        }
    }
}
