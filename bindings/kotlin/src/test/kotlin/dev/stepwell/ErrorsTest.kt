package dev.stepwell

import java.io.IOException
import java.util.concurrent.CopyOnWriteArrayList
import java.util.logging.Handler
import java.util.logging.LogRecord
import java.util.logging.Logger
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertSame
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonArray
import org.junit.jupiter.api.Test

/** What an app reads off an exception, and where those of its own code go. */
class ErrorsTest {
    private fun refused(status: Int, headers: String = "{}") =
        """{"status":$status,"error":"No","headers":$headers}"""

    @Test
    fun anExceptionSaysWhatIsWrongAndNothingOfTheConversation() = runBlocking {
        MockLlm(refused(401)).use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl)
            val failed: TurnException = assertFailsWith<TurnException> { agent.sendAndWait("my secret diary") }
            assertEquals(ProblemKind.AUTHENTICATION, failed.problem.kind)
            assertEquals("${failed.reason}; ${failed.advice}", failed.message)
            assertFalse(failed.retryable)
            assertIs<Outcome.Failed>(failed.finished.outcome)
            assertContains(failed.finished.messages.toString(), "my secret diary")
            assertFalse("my secret diary" in failed.message)
            assertEquals("dev.stepwell.TurnException\$Authentication: ${failed.message}", failed.toString())
        }
    }

    @Test
    fun everyExceptionHasASentenceAndItsClass() {
        val wrong: StepwellException = assertFailsWith<StepwellException> { agent("nobody", "mock") }
        assertEquals("${wrong.reason}; ${wrong.advice}", wrong.message)
        val callback: CallbackException = CallbackException.Failed("no")
        assertEquals("no", callback.reason)
        val usage = TokenUsage(null, null, null, null, null, null, null)
        val finished = Finished(Outcome.Cancelled, "a secret", JsonArray(emptyList()), usage, 1u, null)
        val problem = Problem(ProblemKind.STOPPED, "It was stopped", "ask again", false)
        val words = mapOf(
            wrong to wrong.message,
            StepwellException.Misuse("no", "ask") to "no; ask",
            callback to "no",
            ToolException.Failed("not on Sundays") to "not on Sundays",
            ToolException.Deferred() to "the result comes later",
            StoreException.Exists("t") to "the thread has a turn `t` already",
            TurnException.Stopped(problem, finished) to "It was stopped; ask again",
        )
        for ((error, message) in words) {
            assertEquals(message, error.message)
            assertEquals("${error.javaClass.name}: $message", error.toString())
        }
    }

    @Test
    fun whatHasNoFieldsPrintsAsItsName() {
        assertEquals(
            listOf("Success", "Granted", "Auto"),
            listOf(Outcome.Success, Decision.Granted, ToolChoice.Auto).map { it.toString() },
        )
    }

    @Test
    fun theWaitThatAHeaderNamesIsTold() = runBlocking {
        MockLlm(refused(429, """{"retry-after":"7"}""")).use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl) { retry = RetryPolicy(attempts = 1u) }
            val failed = assertFailsWith<TurnException.RateLimit> { agent.sendAndWait("Hi") }
            val failure = assertIs<Outcome.Failed>(failed.finished.outcome).failure
            assertEquals(7.seconds, assertIs<Failure.Api>(failure).retryAfter)
        }
    }

    @Test
    fun exceptionsOfTheAppsCodeReachItsHandler() = runBlocking {
        val thrown = listOf(IOException(), IllegalStateException("no dialog"), IllegalArgumentException("odd"))
        val told = CopyOnWriteArrayList<Throwable>()
        MockLlm(MockLlm.call("read", "{}"), MockLlm.call("ask", "{}"), MockLlm.text("Well")).use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl) {
                onError(told::add)
                approver { throw thrown[1] }
                tool("read", "Reads.") { run { throw thrown[0] } }
                tool("ask", "Asks.") { requiresApproval = true; run { throw ToolException.Failed("meant so") } }
                hook("hook") { afterAnswer { if (it.text == "Well") throw thrown[2] } }
            }
            val events = agent.send("Go").toList()
            for ((wanted, got) in thrown.zip(told.toList())) assertSame(wanted, got)
            assertEquals(3, told.size)
            val results = events.filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }
            assertEquals("IOException", assertIs<ToolResult.Failed>(results.first()).message)
        }
    }

    @Test
    fun withoutAHandlerTheyAreLogged() = runBlocking {
        val thrown = IllegalStateException("a bug")
        val logged = CopyOnWriteArrayList<Throwable>()
        val handler = object : Handler() {
            override fun publish(record: LogRecord) {
                logged += record.thrown
            }

            override fun flush() = Unit

            override fun close() = Unit
        }
        val logger = Logger.getLogger("dev.stepwell")
        logger.addHandler(handler)
        try {
            MockLlm(MockLlm.call("read", "{}"), MockLlm.text("Well")).use { mock ->
                val agent = agent("openai-compatible", "mock", mock.baseUrl)
                agent.sendAndWait("Go", tools = listOf(agentTool("read", "Reads.") { run { throw thrown } }))
                assertEquals(listOf<Throwable>(thrown), logged.toList())
            }
        } finally {
            logger.removeHandler(handler)
        }
    }
}
