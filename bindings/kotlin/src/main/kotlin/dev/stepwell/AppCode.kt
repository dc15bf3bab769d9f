package dev.stepwell

import java.util.logging.Level
import java.util.logging.Logger
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.withContext

/** How code of the app's is called: what it runs in, and where its exceptions go. */
internal class AppCode {
    var context: CoroutineContext = EmptyCoroutineContext
    var onError: ((Throwable) -> Unit)? = null

    /** Runs code, reports what it throws, and passes it on as an exception. */
    suspend fun <T> run(code: suspend () -> T): T =
        withContext(context) {
            try {
                code()
            } catch (failed: Throwable) {
                // Beyond the context it may be a copy.
                report(failed)
                throw crossing(failed)
            }
        }

    /** As [run]; the words of the exception are what the turn fails with. */
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
            // Meant so, and heard of by whom it is for.
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

        /** Only exceptions cross to Rust: an error left alone would never answer, and the turn would wait. */
        fun crossing(failed: Throwable): Exception =
            failed as? Exception ?: IllegalStateException(wordsOf(failed), failed)

        /** What the model or the log is told of an exception. */
        fun wordsOf(failed: Throwable): String {
            val name = failed::class.simpleName ?: failed.javaClass.name
            return failed.message?.let { "$name: $it" } ?: name
        }
    }
}
