package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertSame
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable
import org.junit.jupiter.api.Test

/** The app's own value for the tools of a run, and what becomes of what they throw. */
class DepsTest {
    private class AppDeps(val user: String, val numbers: Map<String, Int>)

    @Serializable
    private class Asked(val name: String)

    private val called = MockLlm.call("get_secret_number", """{"name":"alice"}""")

    private fun agentOf(mock: MockLlm) = AgentWithDeps<AppDeps>(mock.model) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call, context -> "${context.deps.user}: ${context.deps.numbers.getValue(call.string("name"))}" }
        }
        typedTool("whoami", "Says who asks.") { asked: Asked, context -> "${context.deps.user}, ${asked.name}" }
    }

    @Test
    fun eachRunHasItsOwn() = MockLlm(*Array(20) { called }, *Array(20) { MockLlm.text("Done") }).use { mock ->
        val agent = agentOf(mock)
        val results = runBlocking {
            List(10) { user ->
                async { agent.run("Hi", deps = AppDeps("user-$user", mapOf("alice" to user))) }
            }.awaitAll()
        }
        results.forEachIndexed { user, result ->
            val said = result.messages.filterIsInstance<ToolMessage>().map { it.text }
            assertEquals(setOf("user-$user: $user"), said.toSet())
        }
    }

    @Test
    fun aConversationIsTheSameWhateverTheValue() = runBlocking {
        val typed = MockLlm.call("whoami", """{"name":"Bob"}""")
        MockLlm(called, MockLlm.text("One"), typed, MockLlm.text("Two")).use { mock ->
            val agent = agentOf(mock)
            val held = agent.withDeps(AppDeps("ann", mapOf("alice" to 42))).conversation("c")
            held.send("Hi")
            val result = agent.withDeps(AppDeps("ben", emptyMap())).conversation("c").send("And?")
            val said = result.messages.filterIsInstance<ToolMessage>().map { it.text }
            assertEquals(listOf("ann: 42", "ben, Bob"), said)
            held.close()
        }
    }

    @Test
    fun anExceptionOfAToolFailsTheTurnIfWanted() = runBlocking<Unit> {
        val bug = IllegalStateException("the user's secret")
        MockLlm(called, MockLlm.text("never")).use { mock ->
            val agent = Agent(mock.model) {
                onToolError = OnToolError.FAIL
                tool("get_secret_number", "The secret number of a person.") { string("name"); run { _ -> throw bug } }
            }
            val failed = assertFailsWith<StepwellException.ToolFailed> { agent.run("Hi") }
            assertSame(bug, failed.cause)
            assertEquals("the tool `get_secret_number` failed: IllegalStateException", failed.message)
            assertEquals(1, mock.requests().size)
        }
    }

    @Test
    fun theModelSeesAnExceptionOnlyIfTheAppWantsIt() = runBlocking<Unit> {
        for ((policy, isShown) in listOf(OnToolError.TELL_MODEL to false, OnToolError.SHOW_MODEL to true)) {
            MockLlm(called, MockLlm.text("I see")).use { mock ->
                val agent = Agent(mock.model) {
                    onToolError = policy
                    tool("get_secret_number", "The secret number of a person.") {
                        string("name")
                        run { _ -> throw IllegalStateException("the user's secret") }
                    }
                }
                agent.run("Hi")
                val told = mock.requests().last().getValue("body").toString()
                assertContains(told, "a mistake in its code")
                assertEquals(isShown, "the user's secret" in told)
            }
        }
    }

    @Test
    fun whatAToolSaysToTheModelFailsNothing() = runBlocking<Unit> {
        MockLlm(called, MockLlm.text("I see")).use { mock ->
            val agent = Agent(mock.model) {
                onToolError = OnToolError.FAIL
                tool("get_secret_number", "The secret number of a person.") {
                    string("name")
                    run { _ -> throw ToolException.Failed("not today") }
                }
            }
            val turn = agent.stream("Hi")
            var told: ToolResult? = null
            turn.updates.collect { told = (it as? Update.ToolCall)?.result ?: told }
            assertContains(assertIs<ToolResult.Failed>(told).message, "not today")
            assertEquals("I see", turn.result().text)
        }
    }
}
