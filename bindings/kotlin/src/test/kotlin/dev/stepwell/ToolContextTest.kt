package dev.stepwell

import kotlin.test.assertEquals
import kotlin.test.assertTrue
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonPrimitive
import org.junit.jupiter.api.Test

/** What a running tool tells the app, and asks the user. */
class ToolContextTest {
    private val asks = MockLlm.call("ship", """{"parcel":"tea"}""")

    private fun agent(mock: MockLlm, more: AgentBuilder<Unit>.() -> Unit = {}) =
        Agent(mock.model) {
            tool("ship", "Ships a parcel.") {
                string("parcel")
                run { call, context ->
                    assertEquals(call, context.invocation)
                    assertEquals("garden" to 1, call.threadId to call.attempt)
                    context.report(0.5, "packed")
                    context.partial("in the van")
                    "it leaves ${context.askChoice("How fast?", listOf("today", "tomorrow")) ?: "later"}"
                }
            }
            more()
        }

    private fun List<Event>.result() = filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }.single()

    @Test
    fun itSaysHowFarItIsAndAsks() = runBlocking {
        MockLlm(asks, MockLlm.text("Done")).use { mock ->
            val asked = mutableListOf<Pair<String, String>>()
            val agent = agent(mock) {
                answerer { call, question ->
                    asked += call.name to question.message
                    UserAnswer.Given(JsonPrimitive("today"))
                }
            }
            val events = agent.conversation("garden").stream("Ship it").events.toList()
            assertEquals(listOf("ship" to "How fast?"), asked)
            assertEquals<ToolResult>(ToolResult.Finished("it leaves today", null), events.result())
            val progress = events.filterIsInstance<Event.ToolProgress>().single()
            assertEquals(0.5 to "packed", progress.fraction to progress.message)
            assertTrue(events.any { it is Event.ToolPartialResult })
        }
    }

    @Test
    fun withAnAnswererThatBreaksThereIsNoAnswer() = runBlocking {
        MockLlm(asks, MockLlm.text("Done")).use { mock ->
            val agent = agent(mock) { answerer { _, _ -> TODO("ask the user") } }
            val events = agent.conversation("garden").stream("Ship it").events.toList()
            assertEquals<ToolResult>(ToolResult.Finished("it leaves later", null), events.result())
        }
    }
}
