package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test

/** What the app tells a turn that is under way, over real HTTP. */
class TurnTest {
    private fun agent(mock: MockLlm, code: suspend (ToolInvocation) -> Any?) =
        Agent(mock.model) {
            tool("order", "Orders something.") {
                string("what")
                run(code)
            }
        }

    /** A turn that is collected: what happened, and when a call first had a status. */
    private class Watched(val turn: Turn<String>, scope: CoroutineScope, status: ToolCallStatus) {
        val events = mutableListOf<Event>()
        val call = CompletableDeferred<Event.ToolCallUpdate>()
        val collecting: Deferred<Result<Unit>> = scope.async {
            runCatching {
                turn.events.collect {
                    events += it
                    if (it is Event.ToolCallUpdate && it.status == status) call.complete(it)
                }
            }
        }

        suspend fun results(): List<ToolResult> {
            collecting.await().getOrThrow()
            return events.filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }
        }
    }

    private val tea = MockLlm.call("order", """{"what":"tea"}""")

    @Test
    fun aDeferredCallRestsAndAnotherAgentGoesOn() = runBlocking {
        MockLlm(tea, MockLlm.text("Enjoy!")).use { mock ->
            val first = Watched(agent(mock) { throw ToolException.Deferred() }.stream("Tea, please"), this, ToolCallStatus.DEFERRED)
            val call = first.call.await()
            val snapshot = first.turn.rested()
            first.collecting.cancelAndJoin()

            val revived = agent(mock) { error("it was ordered before") }.revive(snapshot)
            val second = Watched(revived, this, ToolCallStatus.COMPLETED)
            val unknown = assertFailsWith<StepwellException.Misuse> { revived.resolveCall("nobody", "?") }
            assertContains(unknown.message, "nobody")
            revived.resolveCall(call.toolCallId, "the tea is here")
            assertEquals(listOf<ToolResult>(ToolResult.Finished("the tea is here", null)), second.results())
            assertEquals("Enjoy!", revived.result().text)
        }
    }

    @Test
    fun aCallThatIsNotDeferredFails() = runBlocking {
        MockLlm(tea, MockLlm.text("A pity.")).use { mock ->
            val watched = Watched(agent(mock) { throw ToolException.Deferred() }.stream("Tea"), this, ToolCallStatus.DEFERRED)
            watched.turn.failCall(watched.call.await().toolCallId, "sold out")
            assertEquals(listOf<ToolResult>(ToolResult.Failed(ToolFailureKind.ERROR, "sold out")), watched.results())
        }
    }

    @Test
    fun aSecondMessageIsRefusedWhileATurnIsUnderWay() = runBlocking {
        MockLlm(tea, MockLlm.text("Coffee."), MockLlm.text("Then not.")).use { mock ->
            val agent = agent(mock) { awaitCancellation() }
            val alice = agent.conversation("alice")
            val first = Watched(alice.stream("I am Alice"), this, ToolCallStatus.EXECUTING)
            first.call.await()
            val busy = assertFailsWith<StepwellException.Busy> { alice.send("And more") }
            assertEquals("" to 0, busy.result?.text to busy.result?.hops)
            // Other conversations, and runs, are not concerned.
            assertEquals("Coffee.", agent.conversation("bob").use { it.send("I am Bob") }.text)
            assertEquals("Then not.", alice.send("Never mind") { whenBusy = WhenBusy.CANCEL }.text)
            assertIs<StepwellException.Cancelled>(first.collecting.await().exceptionOrNull())
            assertTrue("Bob" !in alice.messages.toString())
        }
    }

    @Test
    fun aCallIsCancelledAndTheTurnGoesOn() = runBlocking {
        MockLlm(tea, MockLlm.text("Then not.")).use { mock ->
            val watched = Watched(agent(mock) { awaitCancellation() }.stream("Tea, please"), this, ToolCallStatus.EXECUTING)
            val call = watched.call.await()
            val message = watched.turn.steer("Never mind")
            watched.turn.cancelCall(call.toolCallId)
            assertEquals(ToolFailureKind.CANCELLED, assertIs<ToolResult.Failed>(watched.results().single()).kind)
            assertContains(watched.events, Event.SteeringTaken(message, 1))
            assertEquals<Event>(Event.Completed(Outcome.Success), watched.events.last())
        }
    }
}
