package dev.stepwell

import java.io.IOException
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeoutException
import java.util.logging.Handler
import java.util.logging.LogRecord
import java.util.logging.Logger
import kotlin.coroutines.cancellation.CancellationException
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertSame
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test

/** What an app reads off an exception, and where those of its own code go. */
class ErrorsTest {
    private fun refused(status: Int, headers: String = "{}") =
        """{"status":$status,"error":"No","headers":$headers}"""

    @Test
    fun anExceptionSaysWhatIsWrongAndNothingOfTheConversation() = runBlocking {
        MockLlm(refused(401)).use { mock ->
            val agent = Agent(mock.model)
            val failed: StepwellException = assertFailsWith<StepwellException> { agent.run("my secret diary") }
            val result = assertNotNull(failed.result)
            assertEquals(ErrorKind.AUTHENTICATION, failed.problem.kind)
            assertEquals(failed.problem.message, failed.message)
            assertEquals(401 to "openai-compatible", failed.status to failed.provider)
            assertFalse(failed.retryable)
            assertEquals(StopReason.FAILED to null, result.stopReason to result.output)
            assertContains(result.messages.toString(), "my secret diary")
            for (shown in listOf(failed.message, "$failed", "$result")) assertFalse("my secret diary" in shown)
            assertEquals("dev.stepwell.StepwellException\$Authentication: ${failed.message}; ${failed.advice}", failed.toString())
        }
    }

    /** Compiles only while each kind has a class, and gives the class of each. */
    @Test
    fun everyKindHasItsClass() {
        for (kind in ErrorKind.entries) {
            val error = FailedTurn(problemWithoutModel(kind, "no", "ask"), "openai").asException()
            assertEquals(kind.name.replace("_", ""), error.javaClass.simpleName.uppercase())
            assertEquals("no" to "ask", error.message to error.advice)
            assertEquals("${error.javaClass.name}: no; ask", "$error")
            when (error) {
                is StepwellException.Connection -> assertIs<IOException>(error.cause)
                is StepwellException.Timeout -> assertIs<TimeoutException>(error.cause)
                else -> assertNull(error.cause)
            }
        }
    }

    @Test
    fun whatTheAppsCodeThrowsHasASentence() {
        val words = mapOf(
            ToolException.Failed("not on Sundays") to "not on Sundays",
            ToolException.Deferred() to "the result comes later",
            StoreException.Exists("t") to "the thread has a turn `t` already",
        )
        for ((error, message) in words) {
            assertEquals(message, error.message)
            assertEquals("${error.javaClass.name}: $message", error.toString())
        }
    }

    @Test
    fun aCancelledCoroutineGetsItsOwnException() = runBlocking {
        MockLlm(MockLlm.stall("Well")).use { mock ->
            val turn = Agent(mock.model).stream("Hi")
            val seen = CompletableDeferred<Unit>()
            val thrown = CompletableDeferred<Throwable>()
            val collecting = launch {
                try {
                    turn.textStream.collect { seen.complete(Unit) }
                } catch (failed: Throwable) {
                    thrown.complete(failed)
                    throw failed
                }
            }
            seen.await()
            collecting.cancelAndJoin()
            assertIs<CancellationException>(thrown.await())
            // Another coroutine that waits is not cancelled with it.
            assertFailsWith<StepwellException.Cancelled> { turn.result() }
            Unit
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
            val agent = Agent(mock.model) { retry { attempts = 1 } }
            val failed = assertFailsWith<StepwellException.RateLimit> { agent.run("Hi") }
            assertTrue(failed.retryable)
            val failure = assertIs<Outcome.Failed>(failed.result?.outcome).failure
            assertEquals(7.seconds, assertIs<Failure.Api>(failure).retryAfter)
        }
    }

    @Test
    fun exceptionsOfTheAppsCodeReachItsHandler() = runBlocking {
        val thrown = listOf(IOException(), IllegalStateException("no dialog"), IllegalArgumentException("odd"))
        val told = CopyOnWriteArrayList<Throwable>()
        MockLlm(MockLlm.call("read", "{}"), MockLlm.call("ask", "{}"), MockLlm.text("Well")).use { mock ->
            val agent = Agent(mock.model) {
                onError(told::add)
                approver { throw thrown[1] }
                tool("read", "Reads.") { run { throw thrown[0] } }
                tool("ask", "Asks.") { requiresApproval = true; run { throw ToolException.Failed("meant so") } }
                hook("hook") { afterAnswer { if (it.text == "Well") throw thrown[2] } }
            }
            val events = mutableListOf<Update>()
            assertFailsWith<StepwellException.Refused> { agent.stream("Go").updates.collect { events += it } }
            for ((wanted, got) in thrown.zip(told.toList())) assertSame(wanted, got)
            assertEquals(3, told.size)
            val results = events.filterIsInstance<Update.ToolCall>().mapNotNull { it.result }
            val failed = assertIs<ToolResult.Failed>(results.first()).message
            assertEquals("`read` failed because of a mistake in its code", failed)
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
                val agent = Agent(mock.model)
                agent.run("Go") { tool("read", "Reads.") { run { throw thrown } } }
                assertEquals(listOf<Throwable>(thrown), logged.toList())
            }
        } finally {
            logger.removeHandler(handler)
        }
    }
}
