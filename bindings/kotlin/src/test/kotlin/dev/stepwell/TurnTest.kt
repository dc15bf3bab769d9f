package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test

/** What the app tells a turn that is under way, over real HTTP. */
class TurnTest {
    private fun agent(mock: MockLlm, code: suspend (ToolInvocation) -> Any?) =
        agent("openai-compatible", "mock", mock.baseUrl) {
            tool("order", "Orders something.") {
                string("what")
                run(code)
            }
        }

    /** All that is still to come of a turn. */
    private suspend fun Turn.rest(): List<Event> = buildList {
        while (true) {
            val events = nextBatch()
            if (events.isEmpty()) break
            addAll(events)
        }
    }

    /** Waits until a call has this status. */
    private suspend fun Turn.until(status: ToolCallStatus): Event.ToolCallUpdate {
        while (true) {
            val calls = nextBatch().filterIsInstance<Event.ToolCallUpdate>()
            calls.firstOrNull { it.status == status }?.let { return it }
        }
    }

    private val tea = MockLlm.call("order", """{"what":"tea"}""")

    @Test
    fun aDeferredCallRestsAndAnotherAgentGoesOn() = runBlocking {
        MockLlm(tea, MockLlm.text("Enjoy!")).use { mock ->
            val first = agent(mock) { throw ToolException.Deferred() }
            val turn = first.startTurn("Tea, please")
            val call = turn.until(ToolCallStatus.DEFERRED)
            val snapshot = turn.rested()
            turn.close()

            val second = agent(mock) { error("it was ordered before") }
            val revived = second.revive(snapshot)
            val again = assertFailsWith<StepwellException.Misuse> { revived.finishCall("nobody", "?") }
            assertContains(again.reason, "nobody")
            revived.finishCall(call.toolCallId, "the tea is here")
            val events = revived.rest()
            val result = events.filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }.single()
            assertEquals<ToolResult>(ToolResult.Finished("the tea is here"), result)
            assertEquals<Event>(Event.Completed(Outcome.Success), events.last())
        }
    }

    @Test
    fun twoUsersOfOneAgentAreNotMixed() = runBlocking {
        MockLlm(tea, MockLlm.text("Coffee."), MockLlm.text("Then not.")).use { mock ->
            val agent = agent(mock) { awaitCancellation() }
            val first = agent.startTurn("I am Alice")
            first.until(ToolCallStatus.EXECUTING)
            val busy = assertFailsWith<TurnException.Busy> { agent.sendAndWait("I am Bob") }
            assertContains(busy.problem.advice, "agent.thread(id)")
            assertEquals("", busy.finished.text)
            assertEquals(0u, busy.finished.hops)
            // Each has a thread of their own.
            assertEquals("Coffee.", agent.thread(ThreadKey("bob")).use { it.sendAndWait("I am Bob") }.text)
            val cancel = TurnOptions(whenBusy = WhenBusy.CANCEL)
            assertEquals("Then not.", agent.sendAndWait("Never mind", options = cancel).text)
            assertEquals<Outcome>(Outcome.Cancelled, first.finish().outcome)
            assertTrue("Bob" !in agent.messages().toString())
        }
    }

    @Test
    fun aCallIsCancelledAndTheTurnGoesOn() = runBlocking {
        MockLlm(tea, MockLlm.text("Then not.")).use { mock ->
            val turn = agent(mock) { awaitCancellation() }.startTurn("Tea, please")
            val call = turn.until(ToolCallStatus.EXECUTING)
            val message = turn.steer("Never mind")
            turn.cancelCall(call.toolCallId)
            val events = turn.rest()
            val result = events.filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }.single()
            assertEquals(ToolFailureKind.CANCELLED, assertIs<ToolResult.Failed>(result).kind)
            assertContains(events, Event.SteeringTaken(message, 1u))
            assertEquals<Event>(Event.Completed(Outcome.Success), events.last())
        }
    }
}
