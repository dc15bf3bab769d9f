package dev.stepwell

import java.util.concurrent.TimeUnit
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import okhttp3.Call
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody

/**
 * Sends an agent's requests with the app's OkHttp: its interceptors, certificates, proxies, and connections.
 *
 * ```
 * val agent = agent("openai", "gpt-4o-mini", key = key) { client(OkHttpTransport(okHttp)) }
 * ```
 *
 * The app brings OkHttp, 4 or later, along. Its limits of time for reading and for a whole call do not hold here: a model
 * may think for minutes, and the turn has clocks of its own, see [Timeouts]. No redirect is followed: the request holds
 * the key.
 */
public class OkHttpTransport(client: OkHttpClient) : HttpTransport {
    private val client = client.newBuilder()
        .readTimeout(0, TimeUnit.MILLISECONDS)
        .callTimeout(0, TimeUnit.MILLISECONDS)
        .followRedirects(false)
        .build()

    override suspend fun send(request: HttpRequest, answer: HttpAnswer): Unit = coroutineScope {
        val sent = Request.Builder().url(request.url).method(request.method, request.body.toRequestBody())
        for (header in request.headers) sent.addHeader(header.name, header.value)
        val call = client.newCall(sent.build())
        // Reading blocks its thread: a call that is cancelled lets go of it.
        val cancelled = launch(start = CoroutineStart.UNDISPATCHED) {
            try {
                awaitCancellation()
            } finally {
                call.cancel()
            }
        }
        withContext(Dispatchers.IO) { call.tell(answer) }
        cancelled.cancel()
    }

    private suspend fun Call.tell(answer: HttpAnswer) = execute().use { response ->
        answer.opened(response.code.toUShort(), response.headers.map { (name, value) -> HttpHeader(name, value) })
        val body = checkNotNull(response.body).source()
        while (!body.exhausted()) {
            if (!answer.received(body.readByteArray(body.buffer.size))) break
        }
    }
}
