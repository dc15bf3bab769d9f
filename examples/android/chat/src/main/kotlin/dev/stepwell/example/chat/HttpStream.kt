package dev.stepwell.example.chat

import dev.stepwell.Effect
import dev.stepwell.HttpRequest
import dev.stepwell.Outputs
import dev.stepwell.RunMachine
import dev.stepwell.connectionFailed
import dev.stepwell.ended
import dev.stepwell.lost
import dev.stepwell.opened
import dev.stepwell.receive
import dev.stepwell.refused
import java.io.IOException
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runInterruptible
import okhttp3.Call
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import okhttp3.Response

private const val CHUNK = 16 * 1024L

/** As much of an error's page as is worth reading. */
private const val REFUSAL = 64 * 1024L

/** What a run is told: one of its inputs. */
typealias Input = RunMachine.() -> Outputs

/** Sends the request of an effect with OkHttp, and tells the run what comes, to the end of the body. */
internal suspend fun OkHttpClient.stream(effect: Effect.OpenStream, tell: suspend (Input) -> Unit) {
    val id = effect.id
    newCall(effect.request.forOkHttp()).closedOnCancel { call ->
        val response = try {
            onNetwork { call.execute() }
        } catch (error: IOException) {
            tell { connectionFailed(id, error.message ?: error.toString()) }
            return@closedOnCancel
        }
        response.use {
            if (!response.isSuccessful) {
                val page = onNetwork { response.peekBody(REFUSAL).bytes() }
                val wait = response.header("retry-after")?.toLongOrNull()?.seconds
                tell { refused(id, response.code, page, wait) }
            } else {
                tell { opened(id, response.header("content-type")) }
                tell(body(id, response, tell))
            }
        }
    }
}

/** Tells the run the pieces of the body as they come; what ended it is the result. */
private suspend fun body(id: String, response: Response, tell: suspend (Input) -> Unit): Input {
    val source = response.body.source()
    while (true) {
        val piece = try {
            onNetwork {
                // Waits for a first byte, and takes what is there with it.
                if (source.exhausted()) null else source.readByteArray(minOf(source.buffer.size, CHUNK))
            }
        } catch (error: IOException) {
            return { lost(id, error.message ?: error.toString()) }
        }
        if (piece == null) return { ended(id) }
        tell { receive(id, piece) }
    }
}

private fun HttpRequest.forOkHttp(): Request {
    val request = Request.Builder().url(url).method(method, body.takeIf { it.isNotEmpty() }?.toRequestBody())
    for (header in headers) request.header(header.name, header.value)
    return request.build()
}

private suspend fun <T> onNetwork(work: () -> T): T = runInterruptible(Dispatchers.IO, work)

/** A thread that waits for a socket does not notice that nobody waits for it; closing the connection wakes it. */
private suspend fun Call.closedOnCancel(work: suspend (Call) -> Unit) = coroutineScope {
    val call = this@closedOnCancel
    val watch = launch(Dispatchers.IO, CoroutineStart.UNDISPATCHED) {
        try {
            awaitCancellation()
        } finally {
            call.cancel()
        }
    }
    work(call)
    watch.cancel()
}
