package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import org.junit.jupiter.api.Test

/** What [JavaCaller] does. */
class JavaTest {
    @Test
    fun javaRunsAnAgent() = MockLlm(
        MockLlm.call("get_secret_number", """{"name":"alice"}"""),
        MockLlm.text("One"),
        MockLlm.text("Two"),
        MockLlm.text("Three"),
        MockLlm.text("Four"),
        MockLlm.text("Five"),
        """{"status":401,"error":"No"}""",
    ).use { mock ->
        val agent = JavaCaller.agent(mock.baseUrl)
        val result = JavaCaller.run(agent)
        assertEquals("One" to 2, result.output to result.hops)
        assertContains(mock.requests().last().toString(), "user-7")
        assertContains(mock.requests().last().toString(), "42")
        assertEquals("Two", JavaCaller.runAsync(agent).get().text)
        assertEquals("Three", JavaCaller.stream(agent).filterIsInstance<Update.Text>().joinToString("") { it.delta })
        assertEquals(4, JavaCaller.messages(agent))
        assertContains(JavaCaller.wrong(agent), "401")
    }

    @Test
    fun javaNamesOtherModels() = MockLlm("""{"status":529,"error":"overloaded"}""").use { first ->
        MockLlm(MockLlm.text("Yes.")).use { second ->
            val agent = JavaCaller.withFallback(first.model, second.model)
            assertEquals("Yes.", agent.blocking().run("Hi").text)
        }
    }
}
