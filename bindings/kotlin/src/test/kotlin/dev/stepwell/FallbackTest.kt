package dev.stepwell

import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.time.Duration
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.Test

/** Other models take the place of one that failed, and models that the app's code chooses. */
class FallbackTest {
    private val overloaded = """{"status":529,"error":"overloaded"}"""

    private fun agentOf(first: MockLlm, second: MockLlm, also: AgentBuilder<Unit>.() -> Unit = {}) =
        Agent(first.model) {
            retry { attempts = 1 }
            fallback(Model.openaiCompatible("second", second.baseUrl))
            tool("work", "Works.") { run { "done" } }
            also()
        }

    @Test
    fun theSecondModelAnswersAndTheFirstOneRests() = runBlocking {
        MockLlm(overloaded).use { first ->
            MockLlm(MockLlm.call("work", "{}"), MockLlm.text("Yes."), MockLlm.text("Again.")).use { second ->
                val agent = agentOf(first, second)
                val turn = agent.stream("Hello")
                val changed = turn.updates.filterIsInstance<Update.ModelChanged>().toList().single()
                assertEquals("Yes.", turn.result().text)
                assertEquals("mock" to "second", changed.previous.model to changed.model.model)
                assertEquals(ErrorKind.OVERLOADED, changed.after)
                assertEquals("Again.", agentOf(first, second).run("And?").text)
                assertEquals(1, first.requests().size)
            }
        }
    }

    @Test
    fun theKindsOfFailureAndTheRestAreTheApps() = runBlocking<Unit> {
        MockLlm(overloaded, overloaded, MockLlm.text("Yes.")).use { first ->
            MockLlm(MockLlm.text("No.")).use { second ->
                val unmoved = agentOf(first, second) { fallbackAfter(ErrorKind.TIMEOUT) }
                assertFailsWith<StepwellException.Overloaded> { unmoved.run("Hello") }
                val agent = agentOf(first, second) { modelRest = Duration.ZERO }
                assertEquals(listOf("No.", "Yes."), listOf(agent.run("Hello").text, agent.run("And?").text))
            }
        }
    }

    @Test
    fun anErrorNamesTheModelThatFailedLast() = runBlocking<Unit> {
        MockLlm(overloaded).use { first ->
            MockLlm("""{"status":401,"error":"Incorrect API key provided"}""").use { second ->
                val agent = Agent(first.model) {
                    retry { attempts = 1 }
                    fallback(Model.groq("second", apiKey = "wrong", baseUrl = second.baseUrl))
                }
                val failed = assertFailsWith<StepwellException.Authentication> { agent.run("Hello") }
                assertEquals(Triple("groq", "second", 401), Triple(failed.provider, failed.model, failed.status))
                assertEquals(ModelName("groq", "second"), failed.problem.model)
            }
        }
    }

    @Test
    fun theAppChoosesTheModelOfEachHop() = runBlocking {
        MockLlm(MockLlm.call("work", "{}"), MockLlm.text("Still here.")).use { first ->
            MockLlm(MockLlm.text("Yes.")).use { second ->
                val seen = mutableListOf<HopContext>()
                val agent = agentOf(first, second) {
                    modelFor { hop ->
                        seen += hop
                        if ("work" in hop.tools) 1 else 0
                    }
                }
                assertEquals("Yes.", agent.run("Hello").text)
                assertEquals(listOf("mock", "second"), seen.first().models.map { it.name.model })
                assertEquals("Still here.", agentOf(first, second) { modelFor { error("no table") } }.run("Hello").text)
            }
        }
    }

    @Test
    fun theKeyOfEachModelIsAskedFor() = runBlocking {
        MockLlm(overloaded).use { first ->
            MockLlm(MockLlm.text("Yes.")).use { second ->
                val agent = agentOf(first, second) { credentials { Authorization("key of ${it.model.model}") } }
                assertEquals("Yes.", agent.run("Hello").text)
                val sent = (first.requests() + second.requests()).map { it.getValue("headers").jsonObject["authorization"] }
                assertEquals(listOf("Bearer key of mock", "Bearer key of second").map(::JsonPrimitive), sent.map { assertIs<JsonPrimitive>(it) })
            }
        }
    }
}
