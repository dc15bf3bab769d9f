package dev.stepwell

import java.util.concurrent.TimeUnit
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import okhttp3.Call
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import okio.Buffer

/**
 * Sends an agent's requests with the app's OkHttp: its interceptors, certificates, proxies, and connections.
 *
 * ```
 * val agent = Agent("openai:gpt-5-mini") { client(OkHttpTransport(okHttp)) }
 * ```
 *
 * The app provides OkHttp, 4 or later. OkHttp's time limits for reading and for a whole call do not apply here: a model
 * may think for minutes, and the turn has its own clocks, see [Timeouts]. No redirect is followed: the request holds
 * the key. Each answer under way has a thread, since OkHttp's reading blocks; none of them is one of the 64 of
 * `Dispatchers.IO`.
 */
public class OkHttpTransport(client: OkHttpClient) : HttpTransport {
    private val client = client.newBuilder()
        .readTimeout(0, TimeUnit.MILLISECONDS)
        .callTimeout(0, TimeUnit.MILLISECONDS)
        .followRedirects(false)
        .build()

    override suspend fun send(request: HttpRequest, answer: HttpAnswer): Unit = coroutineScope {
        // A `GET` may have none.
        val body = if (request.method == "GET") null else request.body.toRequestBody()
        val sent = Request.Builder().url(request.url).method(request.method, body)
        for (header in request.headers) sent.addHeader(header.name, header.value)
        val call = client.newCall(sent.build())
        // Reading blocks its thread: cancelling the call frees it.
        val cancelled = launch(start = CoroutineStart.UNDISPATCHED) {
            try {
                awaitCancellation()
            } finally {
                call.cancel()
            }
        }
        val pieces = Channel<ByteArray>(PIECES)
        launch(READING) {
            // What arrived before the answer broke off counts.
            pieces.close(runCatching { call.readInto(pieces, answer) }.exceptionOrNull())
        }
        withContext(Dispatchers.Default) { answer.takeFrom(pieces) }
        pieces.cancel()
        cancelled.cancel()
    }

    private suspend fun Call.readInto(pieces: Channel<ByteArray>, answer: HttpAnswer) = execute().use { response ->
        answer.opened(response.code, response.headers.map { (name, value) -> HttpHeader(name, value) })
        val body = checkNotNull(response.body).source()
        while (!body.exhausted()) pieces.send(body.readByteArray(body.buffer.size))
    }

    /** Passes the answer on. A call costs as much as some KiB, so all available bytes go in one. */
    private suspend fun HttpAnswer.takeFrom(pieces: Channel<ByteArray>) {
        for (first in pieces) {
            val all = Buffer().write(first)
            while (true) all.write(pieces.tryReceive().getOrNull() ?: break)
            if (!received(all.readByteArray())) return
        }
    }

    private companion object {
        /** The number of chunks of up to 8 KiB that may wait to be passed on; then reading waits. */
        const val PIECES = 64

        /** Threads in addition to those of `Dispatchers.IO`. */
        val READING = Dispatchers.IO.limitedParallelism(Int.MAX_VALUE)
    }
}
