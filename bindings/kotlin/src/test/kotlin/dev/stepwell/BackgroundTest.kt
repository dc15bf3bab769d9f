package dev.stepwell

import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.Test

/** Models whose answers the provider makes in the background. */
class BackgroundTest {
    private fun inBackground(mock: MockLlm) = Model.openai("gpt-5", "a key", mock.baseUrl, background = true)

    @Test
    fun theAnswerIsAskedForInTheBackground() = runBlocking {
        MockLlm(MockLlm.text("Here I am.")).use { mock ->
            assertEquals("Here I am.", Agent(inBackground(mock)).run("Hello").text)
            val body = mock.requests().single().jsonObject.getValue("body").jsonObject
            assertEquals(listOf(JsonPrimitive(true), JsonPrimitive(true)), listOf(body["background"], body["store"]))
        }
    }

    @Test
    fun aModelOfTheFallbackMayBeInTheBackgroundToo() = runBlocking {
        MockLlm("""{"status":503,"error":"Out of order"}""").use { first ->
            MockLlm(MockLlm.text("I can.")).use { second ->
                val agent = Agent(Model.openai("gpt-5", "a key", first.baseUrl)) {
                    retry { attempts = 1 }
                    fallback(inBackground(second))
                }
                assertEquals("I can.", agent.run("Hello").text)
                assertEquals(null, first.requests().single().jsonObject.getValue("body").jsonObject["background"])
                val body = second.requests().single().jsonObject.getValue("body").jsonObject
                assertEquals(JsonPrimitive(true), body["background"])
            }
        }
    }

    @Test
    fun aModelWithoutABackgroundIsRefused() = runBlocking<Unit> {
        val model = Model.openai("gpt-5", "a key", api = "chat", background = true)
        assertFailsWith<StepwellException.Misuse> { Agent(model).run("Hello") }
    }
}
