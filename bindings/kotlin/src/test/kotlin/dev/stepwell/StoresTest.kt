package dev.stepwell

import java.io.ByteArrayOutputStream
import java.io.PrintStream
import java.nio.file.Files
import java.time.Instant
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test
import ownstore.OwnStore

/** Turns that survive: in the stores that come along, and in one of the app's own. */
class StoresTest {
    private val thread = ThreadKey("thread")

    private fun agentOf(mock: MockLlm, store: SessionStore, number: suspend () -> Int = { 42 }) =
        Agent(mock.model) {
            store(store)
            tool("number", "The number.") {
                idempotent = true
                run { number() }
            }
        }

    private fun everyStore(test: suspend CoroutineScope.(SessionStore) -> Unit) = runBlocking {
        val folder = Files.createTempDirectory("stores")
        try {
            test(SqliteStore.open("$folder/app.db"))
            test(SessionStore.inMemory())
            test(sessionStore(OwnStore()))
        } finally {
            folder.toFile().deleteRecursively()
        }
    }

    private fun roles(request: JsonObject) =
        request.getValue("body").jsonObject.getValue("messages").jsonArray
            .map { it.jsonObject.getValue("role").jsonPrimitive.content }

    @Test
    fun aTurnIsThereAfterARestart() = everyStore { store ->
        MockLlm(MockLlm.call("number", "{}"), MockLlm.text("It is 42"), MockLlm.text("As I said")).use { mock ->
            agentOf(mock, store).conversation("thread").send("What is the number?")

            val listed = store.threads(ThreadQuery()).single()
            assertEquals(thread, listed.key)
            assertEquals("What is the number?", listed.title)
            assertNull(listed.unfinished)
            val view = store.view(thread)
            assertEquals(listOf(TurnStatus.COMPLETE), view.turns.map { it.status })
            assertEquals(Outcome.Success, view.turns.single().outcome)
            val execution = view.messages.flatMap { it.toolExecutions }.single()
            assertEquals("number", execution.toolName)
            assertEquals(ToolCallStatus.COMPLETED, execution.status)
            assertEquals(JsonPrimitive("42"), execution.result)
            assertEquals("It is 42", view.messages.last().text)

            // Another process has nothing but the store.
            agentOf(mock, store).conversation("thread").send("Sure?")
            assertEquals(listOf("user", "assistant", "tool", "assistant", "user"), roles(mock.requests()[2]))
            assertEquals(0, mock.failures().size)
        }
    }

    /** Who drives a turn keeps it, until the user moves on elsewhere: then it comes back too late. */
    @Test
    fun theOwnerBeforeIsRefused() = everyStore { store ->
        MockLlm(MockLlm.call("number", "{}"), MockLlm.text("It is 42")).use { mock ->
            val begun = CompletableDeferred<Unit>()
            val mayEnd = CompletableDeferred<Unit>()
            val old = agentOf(mock, store) {
                begun.complete(Unit)
                mayEnd.await()
                41
            }
            val events = mutableListOf<Event>()
            val lost = async {
                val turn = old.conversation("thread").stream("What is the number?")
                assertFailsWith<StepwellException.Cancelled> { turn.events.collect { events += it } }
            }
            begun.await()

            val new = agentOf(mock, store)
            assertTrue(new.recover { it.isEmpty() })
            new.conversation("thread").send("Never mind") { whenBusy = WhenBusy.CANCEL }

            mayEnd.complete(Unit)
            lost.await()
            assertEquals(Outcome.Cancelled, assertIs<Event.Completed>(events.last()).outcome)
            val warnings = events.filterIsInstance<Event.Warning>().map { it.message }
            assertTrue(warnings.any { "has generation 2 by now, and the writer has 1" in it }, "$warnings")
            val view = store.view(thread)
            assertEquals(listOf(TurnStatus.CANCELLED, TurnStatus.COMPLETE), view.turns.map { it.status })
            assertEquals("It is 42", view.messages.last().text)
            assertTrue(new.recover { it.isEmpty() })
        }
    }

    /** What a process has let go of, another one finds in the store. */
    @Test
    fun anUnfinishedTurnIsRecovered() = everyStore { store ->
        MockLlm(MockLlm.call("number", "{}"), MockLlm.text("It is 42")).use { mock ->
            val old = Agent(mock.model) {
                store(store)
                tool("number", "The number.") { run { throw ToolException.Deferred() } }
            }
            val left = old.conversation("thread").stream("What is the number?")
            val collecting = async { left.events.toList() }
            left.rested()
            left.suspend()
            collecting.await()

            val found = agentOf(mock, store).recover { turns ->
                val recovered = turns.single()
                val turn = requireNotNull(recovered.turn)
                val result = async { turn.result() }
                val call = turn.messages().filterIsInstance<AssistantMessage>().single().toolCalls.single()
                turn.resolveCall(call.id, "42")
                recovered.key.thread to result.await().text
            }
            assertEquals(thread to "It is 42", found)
            assertTrue(agentOf(mock, store).recover { it.isEmpty() })
        }
    }

    /** The agent has no store; each conversation brings its own. */
    @Test
    fun aConversationHasAStoreOfItsOwn() = everyStore { store ->
        MockLlm(MockLlm.text("Bergen"), MockLlm.text("Oslo"), MockLlm.text("Rain")).use { mock ->
            val agent = Agent(mock.model)
            val stored = agent.conversation("thread", store = store)
            stored.send("Where?")
            assertEquals("Oslo", agent.conversation("thread").send("Elsewhere?").text)
            assertEquals(listOf("Where?"), store.turns(thread).mapNotNull { store.view(thread).messages.first().text })
            stored.close()
            val again = agent.conversation("thread", store = store)
            assertEquals(2, again.load().size)
            assertEquals(4, again.send("And the weather?").messages.size)
        }
    }

    @Test
    fun whatWasSaidIsSaidOtherwise() = everyStore { store ->
        MockLlm(MockLlm.text("Bergen"), MockLlm.text("Rain"), MockLlm.text("Sun")).use { mock ->
            val conversation = agentOf(mock, store).conversation("thread")
            conversation.send("Where?")
            conversation.send("And the weather?")
            val (first, second) = store.turns(thread)
            conversation.resend(second.id, "And tomorrow?").result()
            val third = store.turns(thread).last()
            assertEquals(first.id, third.parent)
            assertEquals(second.parent, third.parent)
            suspend fun said(turn: String?) = store.view(thread, turn).messages.map { it.text }
            assertEquals(listOf("Where?", "Bergen", "And tomorrow?", "Sun"), said(null))
            assertEquals(listOf("Where?", "Bergen", "And the weather?", "Rain"), said(second.id))

            store.renameThread(thread, "Weather")
            assertEquals("Weather", store.thread(thread)?.title)
            assertTrue(conversation.delete())
            assertFalse(store.deleteThread(thread))
            val unknown = assertFailsWith<StepwellException.Store> { conversation.resend(second.id, "?").result() }
            assertContains(unknown.message, "no turn")
        }
    }

    /** An error that is no exception would never cross to Rust by itself. */
    @Test
    fun aStoreThatBreaksIsSaid() = runBlocking {
        class Broken(private val own: OwnStore = OwnStore()) : Store by own {
            override suspend fun threads(query: ThreadQuery): List<ThreadRecord> = TODO("no such table")
            override suspend fun thread(thread: ThreadKey): ThreadRecord? = error("locked")
            override suspend fun turns(thread: ThreadKey): List<TurnRecord> = throw StoreException.Damaged("page 9")
        }
        val store = sessionStore(Broken())
        for ((why, call) in listOf<Pair<String, suspend () -> Unit>>(
            "NotImplementedError" to { store.threads(ThreadQuery()) },
            "locked" to { store.thread(thread) },
            "page 9" to { store.turns(thread) },
        )) {
            assertContains(assertFailsWith<StepwellException.Store> { call() }.message, why)
        }
    }

    @Test
    fun whatAStoreOfTheAppsOwnRefuses() = runBlocking<Unit> {
        val store = OwnStore()
        val key = TurnKey(thread, "a")
        fun new(turn: String, parent: String? = null) =
            NewTurn(TurnKey(thread, turn), parent, null, null, "checkpoint", "host", "Title", Instant.EPOCH)
        fun block(place: Int, text: String) = Block(
            place.toLong(),
            0,
            JsonObject(mapOf("type" to JsonPrimitive("text"), "text" to JsonPrimitive(text))),
        )
        fun write(first: Int, vararg texts: String, end: Boolean = false) = PersistBatch(
            first.toLong(),
            texts.mapIndexed { place, text -> block(first + place, text) },
            if (end) TurnStatus.COMPLETE else TurnStatus.STREAMING,
            if (end) JsonPrimitive("success") else null,
            "after $first",
            at = Instant.EPOCH,
        )
        assertEquals(1, store.beginTurn(new("a")))
        assertFailsWith<StoreException.Exists> { store.beginTurn(new("a")) }
        assertFailsWith<StoreException.Busy> { store.beginTurn(new("b")) }
        assertFailsWith<StoreException.Gap> { store.persist(key, 1, write(1, "x")) }
        assertFailsWith<StoreException.Stale> { store.claim(key, 2, "other") }
        store.persist(key, 1, write(0, "x", "y"))
        store.persist(key, 1, write(1, "y", "z"))
        assertFailsWith<StoreException.Conflict> { store.persist(key, 1, write(2, "other")) }
        assertEquals(Claimed(2, "after 1"), store.claim(key, 1, "other"))
        assertFailsWith<StoreException.Stale> { store.persist(key, 1, write(3, end = true)) }
        store.persist(key, 2, write(3, end = true))
        store.persist(key, 2, write(3, end = true))
        assertFailsWith<StoreException.Closed> { store.persist(key, 2, write(3, "w", end = true)) }
        assertFailsWith<StoreException.Closed> { store.claim(key, 2, "host") }
        assertFailsWith<StoreException.NoTurn> { store.beginTurn(new("b", "none")) }
        assertEquals(1, store.beginTurn(new("b", "a")))
        assertEquals(3, store.turn(key)?.blocks?.size)
        assertEquals("b", store.thread(thread)?.unfinished?.key?.turn)
        assertEquals(emptyList(), store.unfinished("other"))
        assertTrue(store.deleteThread(thread))
        assertFailsWith<StoreException.NoTurn> { store.persist(TurnKey(thread, "b"), 1, write(0, "x")) }
    }

    @Test
    fun theExampleRuns() {
        MockLlm(MockLlm.text("Nothing yet")).use { mock ->
            val printed = ByteArrayOutputStream()
            val out = System.out
            System.setOut(PrintStream(printed))
            try {
                stored.main(arrayOf(mock.baseUrl))
            } finally {
                System.setOut(out)
            }
            assertEquals(listOf("Nothing yet", "What have I said so far? 1"), printed.toString().trim().lines())
            assertEquals(0, mock.failures().size)
        }
    }
}
