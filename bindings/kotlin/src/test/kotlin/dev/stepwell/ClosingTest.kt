package dev.stepwell

import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test

/** What is closed, slow or broken on the app's side. */
class ClosingTest {
    @Test
    fun callsAfterCloseAreRefused() = runBlocking {
        MockLlm(MockLlm.stall("Well")).use { mock ->
            val conversation = Agent(mock.model).conversation()
            conversation.close()
            conversation.close()
            assertFailsWith<IllegalStateException> { conversation.messages }
            assertFailsWith<IllegalStateException> { conversation.stream("Hi").updates.toList() }
            assertFailsWith<IllegalStateException> { conversation.send("Hi") }
            val machine = RunMachine(RunConfig("openai-compatible", "mock", baseUrl = mock.baseUrl), "thread")
            machine.close()
            assertFailsWith<IllegalStateException> { machine.start(Start("run", "Hi")) }
            assertFailsWith<IllegalStateException> { machine.receive("open:0:0", byteArrayOf(1)) }
        }
        Unit
    }

    @Test
    fun aCollectorThatThrowsCancelsTheTurn() = runBlocking {
        val running = CompletableDeferred<Unit>()
        val stopped = CompletableDeferred<Unit>()
        MockLlm(MockLlm.call("slow", "{}"), MockLlm.text("Again")).use { mock ->
            val agent = Agent(mock.model) {
                tool("slow", "Never ends.") {
                    run {
                        running.complete(Unit)
                        try {
                            awaitCancellation()
                        } finally {
                            stopped.complete(Unit)
                        }
                    }
                }
            }
            val error = assertFailsWith<IllegalStateException> {
                agent.stream("Go").updates.collect { event ->
                    if (event is Update.ToolCall && event.status == ToolCallStatus.EXECUTING) {
                        running.await()
                        error("the screen is gone")
                    }
                }
            }
            assertEquals("the screen is gone", error.message)
            stopped.await()
            assertEquals("Again", agent.run("Go on").text)
        }
    }

    @Test
    fun aToolThatTakesTooLongIsStopped() = runBlocking {
        val begun = CompletableDeferred<Unit>()
        val stopped = CompletableDeferred<Unit>()
        MockLlm(MockLlm.call("slow", "{}"), MockLlm.text("Too slow")).use { mock ->
            val agent = Agent(mock.model) {
                tool("slow", "Never ends.") {
                    timeout = 20.milliseconds
                    run {
                        begun.complete(Unit)
                        try {
                            awaitCancellation()
                        } finally {
                            stopped.complete(Unit)
                        }
                    }
                }
            }
            val turn = agent.stream("Go")
            val events = turn.updates.toList()
            val result = events.filterIsInstance<Update.ToolCall>().mapNotNull { it.result }.single()
            assertEquals(ToolFailureKind.TIMED_OUT, assertIs<ToolResult.Failed>(result).kind)
            // Where the machine is busy, the time may be over before it begins.
            if (begun.isCompleted) stopped.await()
            assertEquals("Too slow", turn.result().text)
        }
    }

    /** Compiles only while these are all the cases there are. */
    private fun words(outcome: Outcome): String = when (outcome) {
        Outcome.Success -> "success"
        Outcome.Cancelled -> "cancelled"
        Outcome.Truncated -> "truncated"
        is Outcome.Incomplete -> outcome.message
        is Outcome.LimitReached -> outcome.message
        is Outcome.Failed -> outcome.message
    }

    @Test
    fun everyCaseCanBeToldApart() {
        assertEquals("cancelled", words(Outcome.Cancelled))
    }
}
