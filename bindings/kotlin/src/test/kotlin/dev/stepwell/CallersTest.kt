package dev.stepwell

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.Executors
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExecutorCoroutineDispatcher
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.junit.jupiter.api.Test
import ownstore.OwnStore

/** The app's code of a turn belongs to the coroutine that collects it. */
class CallersTest {
    private class Tenant(val name: String) : AbstractCoroutineContextElement(Tenant) {
        companion object Key : CoroutineContext.Key<Tenant>
    }

    /** Where each kind of code ran: the tenant, and the thread. */
    private class Seen {
        val places = ConcurrentHashMap.newKeySet<String>()

        suspend fun note(what: String) {
            places += "$what ${currentCoroutineContext()[Tenant]?.name} ${Thread.currentThread().name.substringBefore(" ")}"
        }
    }

    private fun oneThread(name: String): ExecutorCoroutineDispatcher =
        Executors.newSingleThreadExecutor { Thread(it, name) }.asCoroutineDispatcher()

    private class NotingStore(private val seen: Seen, private val store: Store = OwnStore()) : Store by store {
        override suspend fun beginTurn(turn: NewTurn): Long {
            seen.note("store")
            return store.beginTurn(turn)
        }
    }

    private fun agentOf(mock: MockLlm, seen: Seen, more: AgentBuilder<Unit>.() -> Unit = {}) =
        Agent(mock.model) {
            store(NotingStore(seen))
            instructionsFrom {
                seen.note("instructions")
                "Be brief."
            }
            credentials {
                seen.note("credentials")
                Authorization("a-key")
            }
            hook("hook") {
                beforeRequest {
                    seen.note("hook")
                    null
                }
            }
            approver {
                seen.note("approver")
                Decision.Granted
            }
            answerer { _, _ ->
                seen.note("answerer")
                UserAnswer.Declined(null)
            }
            tool("ask", "Asks.") {
                requiresApproval = true
                run { _, context ->
                    seen.note("tool")
                    context.ask("Which?") ?: "none"
                }
            }
            more()
        }

    private val kinds = listOf("answerer", "approver", "credentials", "hook", "instructions", "store", "tool")

    @Test
    fun theAppsCodeRunsInTheContextOfWhoeverCollects() = runBlocking {
        oneThread("request").use { dispatcher ->
            for ((isStored, way) in listOf<Pair<Boolean, suspend (Agent) -> Unit>>(
                false to { agent -> agent.stream("Go").updates.toList() },
                false to { agent -> agent.run("Go") },
                true to { agent -> agent.conversation().use { it.send("Go") } },
                true to { agent -> agent.recover { agent.conversation().use { it.send("Go") } } },
            )) {
                MockLlm(MockLlm.call("ask", "{}"), MockLlm.text("Well")).use { mock ->
                    val seen = Seen()
                    withContext(dispatcher + Tenant("acme")) { way(agentOf(mock, seen)) }
                    val called = kinds.filter { isStored || it != "store" }
                    assertEquals(called.map { "$it acme request" }, seen.places.sorted())
                }
            }
        }
    }

    @Test
    fun theAgentsOwnContextComesOverIt() = runBlocking {
        oneThread("tools").use { dispatcher ->
            MockLlm(MockLlm.call("ask", "{}"), MockLlm.text("Well")).use { mock ->
                val seen = Seen()
                val agent = agentOf(mock, seen) { context = dispatcher }
                withContext(Tenant("acme")) { agent.conversation().use { it.send("Go") } }
                assertEquals(kinds.map { "$it acme tools" }, seen.places.sorted())
            }
        }
    }

    @Test
    fun aJoinedTurnHasNoCodeLeftThatRuns() = runBlocking {
        val begun = CompletableDeferred<Unit>()
        val ending = CompletableDeferred<Unit>()
        val mayEnd = CompletableDeferred<Unit>()
        var hasEnded = false
        MockLlm(MockLlm.call("slow", "{}")).use { mock ->
            val agent = Agent(mock.model) {
                tool("slow", "Takes its time to end.") {
                    run {
                        begun.complete(Unit)
                        try {
                            awaitCancellation()
                        } finally {
                            withContext(NonCancellable) {
                                ending.complete(Unit)
                                mayEnd.await()
                                hasEnded = true
                            }
                        }
                    }
                }
            }
            val turn = launch(Dispatchers.Default) { agent.stream("Go").updates.toList() }
            begun.await()
            val joined = launch { turn.cancelAndJoin() }
            ending.await()
            assertFalse(turn.isCompleted)
            mayEnd.complete(Unit)
            joined.join()
            assertTrue(hasEnded)
        }
    }
}
