package dev.stepwell

import java.io.IOException
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import okhttp3.OkHttpClient
import org.junit.jupiter.api.Test

/** Agents whose requests the app's own HTTP client sends. */
class OkHttpTransportTest {
    private fun agentOf(baseUrl: String, client: HttpTransport) =
        agent("openai-compatible", "mock", baseUrl) { client(client) }

    @Test
    fun everyRequestGoesThroughTheAppsClient() = runBlocking {
        val sent = CopyOnWriteArrayList<String>()
        val okHttp = OkHttpClient.Builder().addInterceptor { chain ->
            sent += chain.request().url.toString()
            chain.proceed(chain.request())
        }.build()
        MockLlm(MockLlm.text("Hello")).use { mock ->
            assertEquals("Hello", agentOf(mock.baseUrl, OkHttpTransport(okHttp)).sendAndWait("Hi").text)
            assertEquals(listOf("${mock.baseUrl}/chat/completions"), sent.toList())
            assertEquals(0, mock.failures().size)
        }
    }

    @Test
    fun whatFailsIsTold() = runBlocking {
        val okHttp = OkHttpClient.Builder().addInterceptor { throw IOException("the proxy is asleep") }.build()
        val agent = agentOf("http://model.example/v1", OkHttpTransport(okHttp))
        val failed = assertFailsWith<TurnException.ConnectionFailed> { agent.sendAndWait("Hi") }
        assertContains(failed.message, "the proxy is asleep")
    }

    @Test
    fun aRequestThatNobodyWaitsForIsGivenUp() = runBlocking {
        val givenUp = CompletableDeferred<Unit>()
        val endless = object : HttpTransport {
            override suspend fun send(request: HttpRequest, answer: HttpAnswer) = try {
                answer.opened(200u, listOf(HttpHeader("content-type", "text/event-stream")))
                answer.received("data: {\"choices\":[{\"delta\":{\"content\":\"on and \"}}]}\n\n".toByteArray())
                awaitCancellation()
            } finally {
                givenUp.complete(Unit)
            }
        }
        agentOf("http://model.example/v1", endless).send("Hi").first { it is Event.TextMessageContent }
        givenUp.await()
    }
}
