package dev.stepwell

import dev.stepwell.internal.NoHandle
import java.io.IOException
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.CountDownLatch
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Protocol
import okhttp3.Response
import okhttp3.ResponseBody.Companion.asResponseBody
import okio.Buffer
import okio.ForwardingSource
import okio.buffer
import org.junit.jupiter.api.Test

/** Agents whose requests the app's own HTTP client sends. */
class OkHttpTransportTest {
    private fun agentOf(baseUrl: String, client: HttpTransport) =
        Agent(Model.openaiCompatible("mock", baseUrl)) { client(client) }

    @Test
    fun everyRequestGoesThroughTheAppsClient() = runBlocking {
        val sent = CopyOnWriteArrayList<String>()
        val okHttp = OkHttpClient.Builder().addInterceptor { chain ->
            sent += chain.request().url.toString()
            chain.proceed(chain.request())
        }.build()
        MockLlm(MockLlm.text("Hello")).use { mock ->
            assertEquals("Hello", agentOf(mock.baseUrl, OkHttpTransport(okHttp)).run("Hi").text)
            assertEquals(listOf("${mock.baseUrl}/chat/completions"), sent.toList())
            assertEquals(0, mock.failures().size)
        }
    }

    @Test
    fun whatFailsIsTold() = runBlocking {
        val okHttp = OkHttpClient.Builder().addInterceptor { throw IOException("the proxy is asleep") }.build()
        val agent = agentOf("http://model.example/v1", OkHttpTransport(okHttp))
        val failed = assertFailsWith<StepwellException.Connection> { agent.run("Hi") }
        assertContains(failed.message, "the proxy is asleep")
    }

    @Test
    fun javaHandsAnAnswerOn(): Unit = runBlocking {
        val agent = agentOf("http://model.example/v1", JavaSettings.transport())
        assertFailsWith<StepwellException.Authentication> { agent.run("Hi") }
    }

    @Test
    fun aRequestThatNobodyWaitsForIsGivenUp() = runBlocking {
        val givenUp = CompletableDeferred<Unit>()
        val endless = object : HttpTransport {
            override suspend fun send(request: HttpRequest, answer: HttpAnswer) = try {
                answer.opened(200, listOf(HttpHeader("content-type", "text/event-stream")))
                answer.received("data: {\"choices\":[{\"delta\":{\"content\":\"on and \"}}]}\n\n".toByteArray())
                awaitCancellation()
            } finally {
                givenUp.complete(Unit)
            }
        }
        agentOf("http://model.example/v1", endless).stream("Hi").updates.first { it is Update.Text }
        givenUp.await()
    }

    /** An answer that comes from memory: what it is read from, with a word when all of it was. */
    private fun answering(body: ByteArray, whenRead: () -> Unit = {}) = OkHttpClient.Builder().addInterceptor { chain ->
        val source = object : ForwardingSource(Buffer().write(body)) {
            override fun read(sink: Buffer, byteCount: Long): Long =
                super.read(sink, byteCount).also { if (it < 0) whenRead() }
        }
        Response.Builder()
            .request(chain.request())
            .protocol(Protocol.HTTP_1_1)
            .code(200)
            .message("OK")
            .body(source.buffer().asResponseBody("text/event-stream".toMediaType()))
            .build()
    }.build()

    private class Taking(val take: suspend (ByteArray) -> Unit) : HttpAnswer(NoHandle) {
        override fun opened(status: Int, headers: List<HttpHeader>) = assertEquals(200, status)

        override suspend fun received(bytes: ByteArray): Boolean {
            take(bytes)
            return true
        }
    }

    private val request = HttpRequest("POST", "http://model.example/v1", emptyList(), "{}".toByteArray())

    @Test
    fun whatHasComeMeanwhileIsHandedOnInOnePiece() = runBlocking {
        val sizes = CopyOnWriteArrayList<Int>()
        val read = CompletableDeferred<Unit>()
        val body = ByteArray(40 * 8192)
        val client = answering(body) { read.complete(Unit) }
        OkHttpTransport(client).send(request, Taking { sizes += it.size; read.await() })
        assertEquals(body.size, sizes.sum())
        assertTrue(sizes.size <= 2, "$sizes")
    }

    @Test
    fun anAnswerNeedsNoThreadOfDispatchersIo() = runBlocking {
        val busy = CountDownLatch(64)
        val free = CountDownLatch(1)
        // All that there are, by default.
        val threads = List(64) {
            launch(Dispatchers.IO) {
                busy.countDown()
                free.await()
            }
        }
        busy.await()
        try {
            val pieces = CopyOnWriteArrayList<String>()
            OkHttpTransport(answering("data: 1".toByteArray())).send(request, Taking { pieces += it.decodeToString() })
            assertEquals(listOf("data: 1"), pieces.toList())
        } finally {
            free.countDown()
            threads.joinAll()
        }
    }
}
