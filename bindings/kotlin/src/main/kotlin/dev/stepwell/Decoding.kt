package dev.stepwell

import dev.stepwell.internal.OutputDecoder
import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.JsonElement

/** The app's code that decodes the typed answers: its exception is the reason of a refusal. */
internal class Decoding(private val app: AppCode, private val code: suspend (JsonElement) -> Unit) : OutputDecoder {
    override suspend fun decode(value: JsonElement): String? =
        guarded {
            try {
                withContext(app.context) { code(value) }
                null
            } catch (cancelled: CancellationException) {
                throw cancelled
            } catch (refused: Exception) {
                refused.message ?: refused.toString()
            }
        }
}
