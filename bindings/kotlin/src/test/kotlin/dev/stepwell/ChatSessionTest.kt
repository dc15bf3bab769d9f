package dev.stepwell

import java.nio.file.Files
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.Test

/** What a chat screen shows, and what its user does. */
class ChatSessionTest {
    private suspend fun ChatSession.until(wanted: (ChatState) -> Boolean): ChatState = state.first(wanted)

    private fun ChatState.texts() = messages.flatMap { it.parts }.filterIsInstance<ChatPart.Text>().map { it.text }

    private fun ChatState.cards() = messages.flatMap { it.parts }.filterIsInstance<ChatPart.Tool>().map { it.card }

    private val pays = MockLlm.call("pay", """{"amount":7}""")

    private fun agent(mock: MockLlm, store: SessionStore? = null, build: AgentBuilder<Unit>.() -> Unit = {}) =
        Agent(mock.model) {
            store?.let { store(it) }
            retry { attempts = 1 }
            tool("pay", "Pays an amount.") {
                integer("amount")
                requiresApproval = true
                run { call -> "paid ${call.integer("amount")}" }
            }
            build(this)
        }

    @Test
    fun aReloadShowsWhatWasShownLive() = runBlocking {
        MockLlm(pays, MockLlm.text("Done"), MockLlm.text("Gladly")).use { mock ->
            val store = SessionStore.inMemory()
            val live = ChatSession(agent(mock, store).conversation("chat"))
            assertEquals(ChatStatus.READY, live.state.value.status)
            val sending = async { live.send("Pay") }
            val waiting = live.until { it.pending.isNotEmpty() }
            assertEquals(ChatStatus.WAITING_FOR_USER, waiting.status)
            assertEquals("pay", waiting.pending.single().tool)

            // Another process shows the turn as far as it is stored.
            val other = ChatSession(agent(mock, store).conversation("chat"))
            other.load()
            assertEquals(waiting.pending.map { it.id }, other.state.value.pending.map { it.id })
            other.close()

            live.approve(waiting.pending.single().id)
            assertEquals("Done", sending.await()?.text)
            assertEquals("Gladly", live.send("Thanks")?.text)
            val shown = live.state.value
            assertEquals(listOf("Pay", "Done", "Thanks", "Gladly"), shown.texts())
            assertEquals(listOf("paid 7" to ToolCallStatus.COMPLETED), shown.cards().map { it.result to it.status })
            assertTrue(shown.pending.isEmpty())

            val later = ChatSession(agent(mock, store).conversation("chat"))
            later.load()
            val still = later.state.value
            fun ChatState.plain() = messages.map { message -> Triple(message.id, message.role, message.parts) }
            assertEquals(shown.plain(), still.plain())
            assertEquals(shown.status, still.status)
            assertEquals("Gladly", later.conversation.messages.filterIsInstance<AssistantMessage>().last().text)
            later.close()
            live.close()
        }
    }

    @Test
    fun aFailedTurnIsTriedAgain() = runBlocking {
        MockLlm("""{"status":503,"error":"No"}""", MockLlm.text("Hello")).use { mock ->
            ChatSession(agent(mock).conversation()).use { chat ->
                assertFailsWith<StepwellException.Misuse> { chat.retry() }
                assertNull(chat.send("Hi"))
                assertEquals(ChatStatus.ERROR, chat.state.value.status)
                assertTrue(assertNotNull(chat.state.value.problem).isRetryable)
                assertEquals("Hello", chat.retry()?.text)
                assertEquals(listOf("Hi", "Hello"), chat.state.value.texts())
                assertNull(chat.state.value.problem)
            }
        }
    }

    /** It fails before there is an outcome. */
    @Test
    fun aTurnThatCannotBeginIsAProblem() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            ChatSession(agent(mock).conversation()).use { chat ->
                assertNull(chat.send("Hi") { toolNames = listOf("none") })
                val shown = chat.state.value
                assertEquals(ChatStatus.ERROR to ErrorKind.MISUSE, shown.status to shown.problem?.kind)
                assertEquals("Hello", chat.send("Hi")?.text)
                assertNull(chat.state.value.problem)
            }
        }
    }

    @Test
    fun aTurnIsStopped() = runBlocking {
        MockLlm(MockLlm.stall("Well"), MockLlm.stall("Again"), MockLlm.text("Fine")).use { mock ->
            ChatSession(agent(mock).conversation()).use { chat ->
                val first = async { chat.send("One") }
                chat.until { "Well" in it.texts() }
                assertFailsWith<StepwellException.Busy> { chat.send("Two") }
                chat.cancel()
                assertNull(first.await())
                assertEquals(ChatStatus.READY to null, chat.state.value.status to chat.state.value.problem)

                val second = async { chat.send("Two") }
                chat.until { "Again" in it.texts() }
                second.cancelAndJoin()
                assertEquals(ChatStatus.READY, chat.state.value.status)
                assertEquals("Fine", chat.send("Three")?.text)
            }
        }
    }

    @Test
    fun aMessageSteersTheTurn() = runBlocking {
        MockLlm(MockLlm.call("wait", "{}"), MockLlm.text("Both")).use { mock ->
            val mayEnd = CompletableDeferred<Unit>()
            val agent = agent(mock) { tool("wait", "Waits.") { run { _ -> mayEnd.await() } } }
            ChatSession(agent.conversation()).use { chat ->
                assertFailsWith<StepwellException.Misuse> { chat.steer("Too early") }
                val sending = async { chat.send("One") }
                chat.until { state -> state.cards().any { it.status == ToolCallStatus.EXECUTING } }
                chat.steer("Two")
                mayEnd.complete(Unit)
                assertEquals("Both", sending.await()?.text)
                assertEquals(listOf("One", "Two", "Both"), chat.state.value.texts())
            }
        }
    }

    @Test
    fun aCallIsDeniedAndAQuestionAnswered() = runBlocking {
        MockLlm(pays, MockLlm.call("order", "{}"), MockLlm.text("Fine")).use { mock ->
            val agent = agent(mock) { tool("order", "Orders.") { run { _, context -> "ordered ${context.ask("How many?")}" } } }
            ChatSession(agent.conversation()).use { chat ->
                val sending = async { chat.send("Go") }
                chat.deny(chat.until { it.pending.isNotEmpty() }.pending.single().id, "too dear")
                val question = chat.until { it.pending.singleOrNull()?.kind == PendingKind.QUESTION }.pending.single()
                chat.answer(question.id, JsonPrimitive("two"))
                assertEquals("Fine", sending.await()?.text)
                val (denied, ordered) = chat.state.value.cards()
                assertEquals(ToolCallStatus.DENIED to "ordered two", denied.status to ordered.result)
            }
        }
    }

    /** Both answers go together. */
    @Test
    fun anAgentIsAnsweredAtOnce() = runBlocking {
        fun says(vararg events: String): String {
            val frames = listOf("""{"type":"RUN_STARTED","threadId":"chat","runId":"r"}""") + events
            return """{"bare":true,"steps":[${frames.joinToString { """{"raw_frame":$it}""" }}]}"""
        }
        val asks = """{"type":"RUN_FINISHED","threadId":"chat","runId":"r","outcome":{"type":"interrupt","interrupts":[
            {"id":"where","reason":"input_required","message":"Where to?"},{"id":"pay","reason":"confirmation"}]}}"""
        MockLlm(
            says(asks),
            says(
                """{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"To Rome."}""",
                """{"type":"RUN_FINISHED","threadId":"chat","runId":"r"}""",
            ),
        ).use { mock ->
            val agent = Agent(Model.agUi(mock.baseUrl.removeSuffix("/v1") + "/ag-ui"))
            ChatSession(agent.conversation()).use { chat ->
                val sending = async { chat.send("Book it") }
                chat.until { it.interrupts.size == 2 }
                chat.answer("where", JsonPrimitive("Rome"))
                assertEquals(listOf("pay"), chat.state.value.interrupts.map { it.id })
                chat.deny("pay")
                assertEquals("To Rome.", sending.await()?.text)
                val sent = mock.requests().last().getValue("body").jsonObject.getValue("resume").jsonArray
                assertEquals(listOf("where", "pay"), sent.map { (it.jsonObject.getValue("interruptId") as JsonPrimitive).content })
                assertTrue(chat.state.value.interrupts.isEmpty())
            }
        }
    }

    /** The process that began the turn is gone: this one recovers it, and the screen follows. */
    @Test
    fun aRecoveredTurnIsFollowed() = runBlocking {
        MockLlm(pays, MockLlm.text("Done")).use { mock ->
            val store = SessionStore.inMemory()
            val left = agent(mock, store).conversation("chat").stream("Pay")
            val collecting = async { left.updates.collect {} }
            left.rested()
            left.suspend()
            collecting.await()

            val agent = agent(mock, store)
            ChatSession(agent.conversation("chat")).use { chat ->
                chat.load()
                val isFollowed = CompletableDeferred<Unit>()
                val following = async {
                    agent.recover { turns ->
                        val turn = assertNotNull(turns.single().turn)
                        async(start = CoroutineStart.UNDISPATCHED) { chat.follow(turn) }.also { isFollowed.complete(Unit) }.await()
                    }
                }
                isFollowed.await()
                val waiting = chat.until { it.pending.isNotEmpty() && it.status == ChatStatus.WAITING_FOR_USER }
                chat.approve(waiting.pending.single().id)
                assertEquals("Done", following.await()?.text)
                assertEquals(listOf("Pay", "Done"), chat.state.value.texts())
                assertContains(chat.state.value.cards().single().result.orEmpty(), "paid 7")
            }
        }
    }

    /** The process is gone in the middle of a turn: the next one opens the screen on the file. */
    @Test
    fun aScreenOpensOnAStoredConversationAsItWas() = runBlocking {
        val folder = Files.createTempDirectory("chat")
        try {
            MockLlm(MockLlm.text("Hello"), pays, MockLlm.text("Done")).use { mock ->
                val live = ChatSession(agent(mock, SqliteStore.open("$folder/app.db")).conversation("chat"))
                live.send("Hi")
                val sending = async { live.send("Pay") }
                val before = live.until { it.pending.isNotEmpty() }
                live.suspend()
                assertNull(sending.await())
                live.close()

                val store = SqliteStore.open("$folder/app.db")
                val agent = agent(mock, store)
                ChatSession(agent.conversation("chat")).use { chat ->
                    chat.load()
                    val shown = chat.state.value
                    fun ChatState.plain() = messages.map { message -> Triple(message.id, message.role, message.parts) }
                    assertEquals(before.plain(), shown.plain())
                    assertEquals(listOf(ToolCallStatus.AWAITING_APPROVAL), shown.cards().map { it.status })
                    assertEquals(before.pending, shown.pending)
                    assertEquals(ChatStatus.WAITING_FOR_USER, shown.status)
                    assertEquals(100, shown.usage.inputTokens)

                    chat.approve(shown.pending.single().id)
                    assertTrue(chat.state.value.pending.isEmpty())
                    assertEquals(ChatStatus.READY, chat.state.value.status)
                }
                while (store.pending(ThreadKey("chat")).isNotEmpty() || mock.requests().size < 3) yield()
                ChatSession(agent.conversation("chat")).use { chat ->
                    while (chat.state.value.texts().lastOrNull() != "Done") {
                        yield()
                        chat.load()
                    }
                    assertEquals(listOf("Hi", "Hello", "Pay", "Done"), chat.state.value.texts())
                    assertContains(chat.state.value.cards().single().result.orEmpty(), "paid 7")
                }
            }
        } finally {
            folder.toFile().deleteRecursively()
        }
    }
}
