package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.async
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import org.junit.jupiter.api.Test

/** What an agent and its turns can do beside the plain turn. */
class MembersTest {
    private fun agentOf(mock: MockLlm, build: AgentBuilder.() -> Unit = {}) =
        agent("openai-compatible", "mock", mock.baseUrl, build = build)

    private fun texts(messages: JsonElement) =
        messages.jsonArray.mapNotNull { it.jsonObject["content"]?.jsonPrimitive?.content }

    private fun history(count: Int, text: String) = buildJsonArray {
        for (index in 0 until count) {
            addJsonObject {
                put("id", "old-$index")
                put("role", "user")
                put("content", text)
            }
        }
    }

    @Test
    fun everyOptionReachesTheTurn() = runBlocking {
        MockLlm(MockLlm.call("order", """{"what":"tea"}""")).use { mock ->
            val agent = agentOf(mock) {
                partialArguments = true
                resumption = Resumption.NEVER
                persistAttempts = 3u
                store(SessionStore.inMemory())
                tool("order", "Orders.") {
                    string("what")
                    run { throw ToolException.Deferred() }
                }
            }
            agent.startTurn("Tea").use { turn ->
                turn.rested()
                assertTrue(turn.nextBatch().any { it is Event.PartialArguments })
            }
            val refused = assertFailsWith<StepwellException.Configuration> { agentOf(mock) { persistAttempts = 3u } }
            assertContains(refused.reason, "no store")
        }
    }

    @Test
    fun aBackendMakesTheIdsOfTheRuns() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            val created = mutableListOf<NewRun>()
            val agent = agentOf(mock) {
                threadId = "garden"
                runSource { new ->
                    created += new
                    "run-${created.size}"
                }
            }
            assertEquals("Hello", agent.sendAndWait("Hi").text)
            assertEquals(listOf(NewRun("garden", null)), created)
            val away = agentOf(mock) { runSource { error("the backend is away") } }
            val failed = assertFailsWith<TurnException> { away.sendAndWait("Hi") }
            assertContains(failed.toString(), "the backend is away")
        }
    }

    @Test
    fun theAppSaysWhatToLeaveOut() = runBlocking {
        MockLlm(MockLlm.text("Yes.")).use { mock ->
            val agent = agentOf(mock) {
                contextGuard = ContextGuard(window = 1_500u)
                history = history(3, "x".repeat(4_000))
                trimContext { overflow, messages ->
                    assertEquals(overflow.messages.map { it.messageId }, messages.map { it.jsonObject["id"]?.jsonPrimitive?.content })
                    Trimmed(overflow.newest(0.5), "There were many x.")
                }
            }
            assertEquals(Outcome.Success, agent.sendAndWait("And?").outcome)
            assertEquals(5, texts(agent.messages()).size)
            val sent = mock.requests().single().getValue("body").jsonObject.getValue("messages").jsonArray
            assertTrue(sent.size < 4)
            assertContains(sent.first().jsonObject.getValue("content").jsonPrimitive.content, "There were many x.")
            val breaks = agentOf(mock) {
                contextGuard = ContextGuard(window = 1_500u)
                history = history(3, "x".repeat(4_000))
                trimContext { _, _ -> throw NotImplementedError() }
            }
            assertFailsWith<TurnException.ContextTooLong> { breaks.sendAndWait("And?") }
        }
        Unit
    }

    @Test
    fun aTurnIsBegunWithIdsOfTheAppsOwnAndSaidOtherwise() = runBlocking {
        MockLlm(MockLlm.text("One"), MockLlm.text("Two"), MockLlm.text("Three")).use { mock ->
            val store = SessionStore.inMemory()
            val agent = agentOf(mock) {
                threadId = "garden"
                store(store)
            }
            agent.start(Start("first", text = "First")).use { turn ->
                turn.begun()
                assertEquals(TurnKey(agent.threadKey(), "first"), turn.stored()?.key)
                assertNull(turn.storeTrouble())
                assertNull(turn.revivedFrom())
                turn.finish()
            }
            agent.start(Start("second", text = "Second")).use { it.finish() }
            agent.branch("first", Start("other", text = "Otherwise")).use { it.finish() }
            assertEquals(listOf("First", "One", "Otherwise", "Three"), texts(agent.messages()))
            assertEquals(listOf(null, "first", "first"), store.turns(ThreadKey("garden")).map { it.parent })
        }
    }

    @Test
    fun aThreadBeginsWithAHistoryAndIsForgotten() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            val registry = RunRegistry()
            val agent = agentOf(mock) { registry(registry) }
            val key = ThreadKey("other")
            val other = agent.threadWithHistory(key, history(1, "Before"))
            other.sendAndWait("Hi")
            assertEquals(listOf("Before", "Hi", "Hello"), texts(other.messages()))
            assertEquals(key, assertIs<RegistryEvent.RunStarted>(agent.nextRegistryEvent()).handle.key)
            assertEquals(listOf(key), registry.unreadThreads())
            agent.forgetThread(key)
            assertEquals(JsonArray(emptyList()), agent.thread(key).messages())
        }
    }

    @Test
    fun aTurnIsLookedIntoAndSuspended() = runBlocking {
        MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!")).use { mock ->
            val agent = agentOf(mock) { tool("order", "Orders.") { run { throw ToolException.Deferred() } } }
            val turn = agent.startTurn("Tea")
            turn.rested()
            assertEquals("Tea", texts(turn.messages()).first())
            assertEquals(JsonObject(emptyMap()), turn.sharedState())
            assertTrue(turn.interrupts().isEmpty())
            turn.usage()
            val watching = async {
                buildList {
                    while (true) {
                        val events = turn.nextBatch()
                        if (events.isEmpty()) break
                        addAll(events)
                    }
                }
            }
            val snapshot = turn.suspend()
            assertFalse(watching.await().any { it is Event.Completed })
            turn.close()

            agent.revive(snapshot).use { revived ->
                revived.begun()
                assertEquals("Tea", texts(requireNotNull(revived.revivedFrom())).first())
                val messages = revived.messages().jsonArray
                val call = messages[1].jsonObject.getValue("toolCalls").jsonArray.first().jsonObject
                revived.finishCall(call.getValue("id").jsonPrimitive.content, "here")
                val finished = revived.finish()
                assertEquals<Outcome>(Outcome.Success, finished.outcome)
                assertTrue(finished.text.endsWith("Enjoy!"))
            }
        }
    }
}
