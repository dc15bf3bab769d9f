package dev.stepwell

import java.time.Instant
import java.util.concurrent.ConcurrentHashMap
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import org.junit.jupiter.api.Test

/** Many runs at once, the journals of them, and what the providers can do. */
class RegistryTest {
    @Test
    fun aThreadHasOneOwner() {
        val registry = RunRegistry()
        val key = ThreadKey("a")
        registry.lookAt(key)
        val first = registry.register(key).handle
        val (handle, replaced) = registry.register(key)
        assertEquals(first, replaced)
        assertContains(assertFailsWith<StepwellException.Stale> { registry.check(first) }.message, "is stale")
        assertFailsWith<StepwellException.Stale> { registry.replace(first) }
        val continued = registry.replace(handle)
        assertEquals(handle.generation to 1, continued.generation to continued.hop)
        assertEquals(continued, RunRegistry.restore(registry.snapshot()).current(key))
        registry.lookAt(null)
        registry.complete(continued, Outcome.Success)
        assertTrue(registry.unread(key))
        registry.lookAt(key)
        assertFalse(registry.unread(key))
        assertNull(registry.current(key))
        assertEquals(
            listOf(
                RegistryEvent.RunStarted(first),
                RegistryEvent.RunCompleted(first, Outcome.Cancelled),
                RegistryEvent.RunStarted(handle),
                RegistryEvent.StaleInput(first, handle),
                RegistryEvent.StaleInput(first, handle),
                RegistryEvent.RunContinued(continued),
                RegistryEvent.RunCompleted(continued, Outcome.Success),
                RegistryEvent.Unread(key),
                RegistryEvent.Read(key),
            ),
            registry.takeEvents(),
        )
    }

    @Test
    fun whichThreadsAreUnread() = runBlocking {
        MockLlm(MockLlm.text("Hello"), MockLlm.text("Hello"), MockLlm.text("Hello")).use { mock ->
            val registry = RunRegistry()
            val agent = Agent(mock.model) { registry(registry) }
            registry.lookAt(ThreadKey("first"))
            agent.conversation("first").send("Hi")
            agent.conversation("other").send("Hi")
            agent.run("Hi")
            assertEquals(listOf(ThreadKey("other")), registry.unreadThreads())
        }
    }

    @Test
    fun aTurnsJournalIsLivedThroughAgain() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            val written = ConcurrentHashMap<String, String>()
            val agent = Agent(mock.model) {
                journal { turn, lines ->
                    written.merge(turn, lines, String::plus)
                    TODO("the disk is full")
                }
            }
            agent.run("A secret")
            val journal = written.values.single()
            val replayed = replayJournal(journal)
            assertEquals(true to Outcome.Success, replayed.isClosed to replayed.outcome)
            val hidden = redactJournal(journal)
            assertContains(journal, "secret")
            assertFalse("secret" in hidden)
            assertFailsWith<StepwellException.InvalidJournal> { replayJournal(hidden) }
            assertFailsWith<StepwellException.InvalidJournal> { replayJournal("nonsense") }
            Unit
        }
    }

    private fun at(second: Long): Instant = Instant.ofEpochSecond(second)

    @Test
    fun aMachineWritesAJournal() {
        val config = RunConfig("openai-compatible", "mock", baseUrl = "http://localhost/v1")
        val run = RunMachine(config, "thread", journal = true)
        run.start(Start("run", text = "Hi"), at(1))
        val parts = Json.parseToJsonElement(
            """[{"type":"image","source":{"type":"url","value":"https://example.org/cat.png"}}]""",
        )
        assertFailsWith<StepwellException.Misuse> { run.toolFinishedParts("tool:0:0", JsonObject(emptyMap()), at(2)) }
        run.toolFinishedParts("tool:0:0", parts, at(2))
        run.cancel(at(3))
        val replayed = replayJournal(run.takeJournal() + run.endJournal())
        assertEquals(run.digest(), replayed.digest)
        assertEquals(3, replayed.inputs)
    }

    @Test
    fun theProvidersSayWhatTheyCanDo() {
        val openai = providers().single { it.name == "openai" }
        assertEquals("OPENAI_API_KEY", openai.keyVariable)
        assertTrue(openai.apis.single { it.name == openai.defaultApi }.capabilities.images)
        assertFailsWith<StepwellException.Misuse> { providers(JsonNull) }
        assertTrue((contextWindow("openai", "gpt-4o-mini")?.window ?: 0) >= 100_000)
    }
}
