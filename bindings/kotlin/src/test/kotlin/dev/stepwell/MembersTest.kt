package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test

/** What an agent and its turns can do beside the plain turn. */
class MembersTest {
    private fun agentOf(mock: MockLlm, build: AgentBuilder<Unit>.() -> Unit = {}) =
        Agent(mock.model, build)

    private fun texts(messages: List<Message>) = messages.mapNotNull { (it as? UserMessage)?.text ?: (it as? AssistantMessage)?.text }

    @Test
    fun everyOptionReachesTheTurn() = runBlocking {
        MockLlm(MockLlm.call("order", """{"what":"tea"}""")).use { mock ->
            val agent = agentOf(mock) {
                partialArguments = true
                resumption = Resumption.NEVER
                persistAttempts = 3
                store(SessionStore.inMemory())
                tool("order", "Orders.") {
                    string("what")
                    run { throw ToolException.Deferred() }
                }
            }
            val turn = agent.stream("Tea")
            val events = mutableListOf<Event>()
            val collecting = launch { turn.events.collect { events += it } }
            turn.rested()
            collecting.cancelAndJoin()
            assertTrue(events.any { it is Event.PartialArguments })
            val refused = assertFailsWith<StepwellException.Misuse> { agentOf(mock) { persistAttempts = 3 }.run("Tea") }
            assertContains(refused.message, "no store")
        }
    }

    @Test
    fun anAgentIsTheSameWithAnotherModel() = runBlocking {
        MockLlm(MockLlm.text("One")).use { first ->
            MockLlm(MockLlm.text("Two")).use { second ->
                val agent = agentOf(first) { instructions = "Be kind." }
                val other = agent.withModel(second.model)
                assertEquals("Two" to "One", other.run("Hi").text to agent.run("Hi").text)
                assertContains(second.requests().single().toString(), "Be kind.")
            }
        }
    }

    @Test
    fun aBackendMakesTheIdsOfTheRuns() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            val created = mutableListOf<NewRun>()
            val agent = agentOf(mock) {
                runSource { new ->
                    created += new
                    "run-${created.size}"
                }
            }
            assertEquals("Hello", agent.conversation("garden").send("Hi").text)
            assertEquals(listOf(NewRun("garden", null)), created)
            val away = agentOf(mock) { runSource { error("the backend is away") } }
            val failed = assertFailsWith<StepwellException> { away.run("Hi") }
            assertContains(failed.message, "the backend is away")
        }
    }

    @Test
    fun theAppSaysWhatToLeaveOut() = runBlocking<Unit> {
        MockLlm(MockLlm.text("Yes.")).use { mock ->
            val agent = agentOf(mock) {
                contextGuard { window = 1_500 }
                trimContext { overflow, messages ->
                    assertEquals(overflow.messages.map { it.messageId }, messages.map { it.jsonObject["id"]?.jsonPrimitive?.content })
                    Trimmed(overflow.newest(0.5), "There were many x.")
                }
            }
            val long = Transcript(List(3) { UserMessage("x".repeat(4_000), "old-$it") })
            val conversation = agent.conversation(history = long)
            assertEquals("Yes.", conversation.send("And?").text)
            assertEquals(5, conversation.messages.size)
            val sent = mock.requests().single().getValue("body").jsonObject.getValue("messages").jsonArray
            assertTrue(sent.size < 4)
            assertContains(sent.first().jsonObject.getValue("content").jsonPrimitive.content, "There were many x.")
            val breaks = agentOf(mock) {
                contextGuard { window = 1_500 }
                trimContext { _, _ -> throw NotImplementedError() }
            }
            assertFailsWith<StepwellException.ContextTooLong> { breaks.conversation(history = long).send("And?") }
        }
    }

    @Test
    fun aTurnIsBegunWithIdsOfTheAppsOwnAndSaidOtherwise() = runBlocking {
        MockLlm(MockLlm.text("One"), MockLlm.text("Two"), MockLlm.text("Three")).use { mock ->
            val store = SessionStore.inMemory()
            val conversation = agentOf(mock) { store(store) }.conversation("garden")
            val first = conversation.stream(Start("first", text = "First"))
            first.events.collect {
                if (it is Event.TextMessageContent) {
                    first.begun()
                    assertEquals(TurnKey(conversation.key, "first"), first.stored())
                    assertNull(first.storeTrouble())
                    assertNull(first.revivedFrom())
                }
            }
            conversation.stream(Start("second", text = "Second")).result()
            conversation.branch("first", Start("other", text = "Otherwise")).result()
            assertEquals(listOf("First", "One", "Otherwise", "Three"), texts(conversation.messages))
            assertEquals(listOf(null, "first", "first"), store.turns(ThreadKey("garden")).map { it.parent })
        }
    }

    @Test
    fun aConversationBeginsWithAHistoryAndIsForgotten() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            val registry = RunRegistry()
            val agent = agentOf(mock) { registry(registry) }
            val key = ThreadKey("other")
            val other = agent.conversation(key, Transcript(UserMessage("Before")))
            other.send("Hi")
            assertEquals(listOf("Before", "Hi", "Hello"), texts(other.messages))
            assertEquals(key, assertIs<RegistryEvent.RunStarted>(registry.takeEvents().first()).handle.key)
            assertEquals(listOf(key), registry.unreadThreads())
            other.delete()
            assertEquals(emptyList(), registry.unreadThreads())
            assertEquals(emptyList(), agent.conversation(key).messages)
        }
    }

    @Test
    fun aTurnIsLookedIntoAndSuspended() = runBlocking {
        MockLlm(MockLlm.call("order", "{}"), MockLlm.text("Enjoy!")).use { mock ->
            val agent = agentOf(mock) { tool("order", "Orders.") { run { throw ToolException.Deferred() } } }
            val turn = agent.stream("Tea")
            val watching = async { turn.events.toList() }
            turn.rested()
            assertEquals("Tea", texts(turn.messages()).first())
            assertEquals(JsonObject(emptyMap()), turn.sharedState())
            assertTrue(turn.interrupts().isEmpty())
            turn.usage()
            val snapshot = turn.suspend()
            assertFalse(watching.await().any { it is Event.Completed })
            assertFailsWith<StepwellException.Misuse> { turn.result() }

            val revived = agent.revive(snapshot)
            val result = async { revived.result() }
            revived.begun()
            assertEquals("Tea", texts(requireNotNull(revived.revivedFrom())).first())
            val call = revived.messages().filterIsInstance<AssistantMessage>().single().toolCalls.single()
            assertEquals("order", call.name)
            revived.resolveCall(call.id, "here")
            assertEquals("Enjoy!", result.await().text)
        }
    }
}
