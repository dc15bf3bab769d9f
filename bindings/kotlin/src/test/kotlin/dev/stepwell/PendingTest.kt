package dev.stepwell

import java.nio.file.Files
import java.nio.file.Path
import kotlin.test.AfterTest
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.junit.jupiter.api.Test

/** What waits for the user is data, in any process that shares the store. */
class PendingTest {
    private val folder: Path = Files.createTempDirectory("pending")

    private suspend fun store(): SessionStore = SqliteStore.open("$folder/app.db")

    @AfterTest
    fun clean() {
        folder.toFile().deleteRecursively()
    }

    private val pays = MockLlm.call("pay", """{"amount":7}""")

    private fun <D> AgentBuilder<D>.pay(code: suspend (Long, ToolContext<D>) -> Any? = { amount, _ -> "paid $amount" }) =
        tool("pay", "Pays an amount.") {
            integer("amount")
            requiresApproval = true
            idempotent = true
            run { call, context -> code(call.integer("amount"), context) }
        }

    private fun agent(mock: MockLlm, store: SessionStore? = null) = Agent(mock.model) {
        store?.let { store(it) }
        pay()
    }

    private fun amount(value: Int): JsonObject = buildJsonObject { put("amount", value) }

    /** Waits for a turn to list what it waits for, while it is collected. */
    private class Waiting {
        val asked = CompletableDeferred<Pending>()
        val updates = mutableListOf<Update.Pending>()

        suspend fun collect(turn: Turn<String>): TurnResult<String> {
            turn.updates.collect { update ->
                if (update !is Update.Pending) return@collect
                updates += update
                update.pending.firstOrNull()?.let { asked.complete(it) }
            }
            return turn.result()
        }
    }

    @Test
    fun aTurnListsWhatItWaitsFor() = runBlocking {
        MockLlm(pays, MockLlm.text("Done")).use { mock ->
            val turn = agent(mock).stream("Pay")
            val waiting = Waiting()
            val result = async { waiting.collect(turn) }
            val asked = waiting.asked.await()
            assertEquals(PendingKind.APPROVAL, asked.kind)
            assertEquals("pay", asked.tool)
            assertEquals(listOf(asked), turn.pending())
            assertFailsWith<StepwellException.Misuse> { turn.approve("nobody") }
            assertFailsWith<StepwellException.Misuse> { turn.approve(asked.id, JsonObject(emptyMap())) }
            turn.approve(asked.id, amount(5))
            assertContains(result.await().messages.toString(), "paid 5")
            assertEquals(listOf(listOf(asked), emptyList()), waiting.updates.map { it.pending })
        }
    }

    @Test
    fun aTurnIsDenied() = runBlocking {
        MockLlm(pays, MockLlm.text("Not then")).use { mock ->
            val turn = agent(mock).stream("Pay")
            val waiting = Waiting()
            val result = async { waiting.collect(turn) }
            turn.deny(waiting.asked.await().id, "too dear")
            assertContains(result.await().messages.toString(), "too dear")
        }
    }

    @Test
    fun aQuestionWaitsAndIsAnswered() = runBlocking {
        MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Fine")).use { mock ->
            val agent = Agent(mock.model) {
                tool("order", "Orders.") { run { _, context -> "ordered ${context.ask("How many?")}" } }
            }
            val turn = agent.stream("Order")
            val waiting = Waiting()
            val result = async { waiting.collect(turn) }
            val asked = waiting.asked.await()
            assertEquals(PendingKind.QUESTION to "How many?", asked.kind to asked.message)
            turn.answer(asked.id, JsonPrimitive("two"))
            assertContains(result.await().messages.toString(), "ordered two")
        }
    }

    /** Nobody could answer. */
    @Test
    fun aPlainRunIsDenied() = runBlocking {
        MockLlm(pays, MockLlm.text("Not then"), pays, MockLlm.text("Not then")).use { mock ->
            val agent = agent(mock)
            for (result in listOf(agent.run("Pay"), agent.blocking().stream("Pay", { }))) {
                assertEquals("Not then", result.text)
                assertTrue("paid" !in result.messages.toString())
            }
        }
    }

    @Test
    fun aRunIsKeptInNoStore() = runBlocking {
        MockLlm(MockLlm.text("One"), MockLlm.text("Two"), MockLlm.text("Three")).use { mock ->
            val store = store()
            val agent = agent(mock, store)
            agent.run("Hi")
            agent.stream("Hi").updates.toList()
            assertEquals(emptyList(), store.threads(ThreadQuery()))
            agent.conversation("kept").use { it.send("Hi") }
            assertEquals(listOf("kept"), store.threads(ThreadQuery()).map { it.key.thread })
        }
    }

    /** The agents share nothing but the file. */
    @Test
    fun anotherAgentOnTheStoreApproves() = runBlocking {
        MockLlm(pays, MockLlm.text("Done")).use { mock ->
            val waiting = Waiting()
            val held = agent(mock, store()).conversation("order")
            val result = async { waiting.collect(held.stream("Pay")) }
            val asked = waiting.asked.await()

            val other = store()
            assertEquals(listOf(asked.id), other.pending(ThreadKey("order")).map { it.id })
            agent(mock, other).conversation("order").use { conversation ->
                assertEquals(listOf(asked.id), conversation.pending().map { it.id })
                conversation.approve(asked.id, amount(3))
            }
            assertContains(result.await().messages.toString(), "paid 3")
            assertEquals(emptyList(), held.pending())
        }
    }

    /** The process that began the turn is gone: whoever approves continues it, with deps of its own. */
    @Test
    fun theAgentThatApprovesContinuesALeftTurn() = runBlocking {
        class Account(val name: String)
        MockLlm(pays, MockLlm.text("Done")).use { mock ->
            val paid = CompletableDeferred<String>()
            fun agent(store: SessionStore) = AgentWithDeps<Account>(mock.model) {
                store(store)
                pay { amount, context -> "$amount from ${context.deps.name}".also { paid.complete(it) } }
            }
            val turn = agent(store()).withDeps(Account("the first")).conversation("order").stream("Pay")
            val collecting = async { turn.updates.toList() }
            turn.rested()
            turn.suspend()
            collecting.await()

            agent(store()).withDeps(Account("the second")).conversation("order").use { conversation ->
                conversation.approve(conversation.pending().single().id)
                assertEquals("7 from the second", paid.await())
            }
        }
        assertEquals(emptySet(), Caller.known.keys)
    }

    @Test
    fun aDeferredCallIsResolvedByTheConversation() = runBlocking {
        MockLlm(MockLlm.call("ship", "{}"), MockLlm.text("Shipped")).use { mock ->
            val agent = Agent(mock.model) { tool("ship", "Ships.") { run { _ -> throw ToolException.Deferred() } } }
            agent.conversation().use { conversation ->
                val waiting = Waiting()
                val result = async { waiting.collect(conversation.stream("Ship")) }
                val asked = waiting.asked.await()
                assertEquals(PendingKind.RESULT, asked.kind)
                conversation.resolveCall(asked.toolCallId, "by train")
                assertContains(result.await().messages.toString(), "by train")
            }
        }
    }

    /** A message that steers joins the turn if the turn still takes it; else it follows, as a queued one does. */
    @Test
    fun aSecondMessageQueuesOrSteers() = runBlocking {
        for (way in listOf(WhenBusy.QUEUE, WhenBusy.STEER)) {
            MockLlm(MockLlm.call("wait", "{}"), MockLlm.text("First"), MockLlm.text("Second")).use { mock ->
                val begun = CompletableDeferred<Unit>()
                val mayEnd = CompletableDeferred<Unit>()
                val agent = Agent(mock.model) {
                    tool("wait", "Waits.") {
                        run { _ ->
                            begun.complete(Unit)
                            mayEnd.await()
                        }
                    }
                }
                agent.conversation().use { conversation ->
                    val first = async { conversation.send("One") }
                    begun.await()
                    val second = async { conversation.send("Two") { whenBusy = way } }
                    yield()
                    mayEnd.complete(Unit)
                    // A turn that is joined while it gives its last answer gives another one.
                    val texts = listOf(first.await().text, second.await().text)
                    val isJoined = texts[0] == texts[1]
                    assertTrue(if (isJoined) way == WhenBusy.STEER else texts == listOf("First", "Second"), texts.toString())
                    val said = conversation.messages.filterIsInstance<UserMessage>().map { it.text }
                    assertEquals(listOf("One", "Two"), said)
                }
            }
        }
    }
}
