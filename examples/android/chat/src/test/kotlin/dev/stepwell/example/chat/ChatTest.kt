package dev.stepwell.example.chat

import dev.stepwell.FirstContact
import dev.stepwell.MockLlm
import dev.stepwell.RetryPolicy
import dev.stepwell.RunConfig
import dev.stepwell.Timeouts
import dev.stepwell.ToolCallStatus
import dev.stepwell.ToolDefinition
import dev.stepwell.string
import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger
import kotlin.test.AfterTest
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.job
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import okhttp3.OkHttpClient
import org.junit.jupiter.api.Test

/** All of the example but its Android shell: a process is a [CoroutineScope] here, and its death the end of it. */
class ChatTest {
    private val folder: File = Files.createTempDirectory("chat").toFile()
    private val store = FileSnapshotStore(File(folder, "chat.json"))
    private val runs = AtomicInteger()
    private val numbers = mapOf("alice" to "42", "bob" to "7")

    @AfterTest
    fun clean() {
        folder.deleteRecursively()
    }

    private val definition = ToolDefinition(
        "get_secret_number",
        "The secret number of a person.",
        Json.parseToJsonElement(
            """{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}""",
        ),
    )

    private val lookup: ToolCode = { call ->
        runs.incrementAndGet()
        numbers.getValue(call.string("name"))
    }

    /** The app in a process of its own. */
    @OptIn(ExperimentalCoroutinesApi::class)
    private inner class App(
        config: RunConfig,
        tool: ToolDefinition = definition,
        code: ToolCode = lookup,
    ) {
        constructor(mock: MockLlm, tool: ToolDefinition = definition, code: ToolCode = lookup) :
            this(RunConfig("openai-compatible", "mock", baseUrl = mock.baseUrl), tool, code)

        val scope = CoroutineScope(Job() + Dispatchers.Default.limitedParallelism(1))
        val client = OkHttpClient()
        val chat = Chat(
            scope,
            config.copy(tools = listOf(tool)),
            client,
            mapOf(tool.name to code),
            store,
        )

        suspend fun until(wanted: (ChatState) -> Boolean): ChatState = chat.state.first(wanted)

        suspend fun started(): ChatState {
            chat.restore().join()
            return chat.state.value
        }

        suspend fun say(text: String): ChatState {
            chat.send(text)
            return until { !it.running }
        }

        suspend fun die() {
            scope.coroutineContext.job.cancelAndJoin()
        }
    }

    private fun play(vararg hops: String, test: suspend (MockLlm) -> Unit) = runBlocking {
        MockLlm(*hops).use { test(it) }
    }

    private fun ChatState.texts() = items.filterIsInstance<ChatItem.Model>().map { it.text }

    private fun ChatState.said() = items.filterIsInstance<ChatItem.User>().map { it.text }

    private fun ChatState.tools() = items.filterIsInstance<ChatItem.Tool>()

    private val asksForAlice = MockLlm.call("get_secret_number", """{"name":"alice"}""")

    private val finished = """{"type":"RUN_FINISHED","threadId":"chat","runId":"r"}"""

    /** A run of an AG-UI agent. */
    private fun agentSays(vararg events: String): String {
        val frames = listOf("""{"type":"RUN_STARTED","threadId":"chat","runId":"r"}""") + events
        return """{"bare":true,"steps":[${frames.joinToString { """{"raw_frame":$it}""" }}]}"""
    }

    @Test
    fun aWholeTurnAndTheNext() = play { mock ->
        val app = App(mock)
        assertEquals(ChatState(), app.started())
        val state = app.say("What are the numbers?")
        assertNull(state.problem)
        assertEquals(setOf("42", "7"), state.tools().map { it.result }.toSet())
        assertTrue(state.texts().last().endsWith("Alice's number is 42, Bob's is 7"))
        assertEquals(listOf("What are the numbers?", "Again?"), app.say("Again?").said())
        assertEquals(0, mock.failures().size)
        val before = app.chat.state.value
        app.die()
        val after = App(mock).started()
        assertEquals(before.texts() to before.said(), after.texts() to after.said())
        assertEquals(before.tools().map { it.name to it.result }, after.tools().map { it.name to it.result })
    }

    @Test
    fun theProcessDiesWhileTheAnswerComes() = play(asksForAlice, MockLlm.stall("Well"), MockLlm.text("It is 42.")) { mock ->
        val first = App(mock)
        first.started()
        first.chat.send("Alice's?")
        first.until { it.texts() == listOf("Well") }
        first.die()

        val second = App(mock)
        second.chat.restore()
        val state = second.until { !it.running }
        assertNull(state.problem)
        assertEquals(listOf("Alice's?"), state.said())
        assertEquals(listOf("42"), state.tools().map { it.result })
        assertEquals(listOf("It is 42."), state.texts())
        assertEquals(1, runs.get())
        assertEquals(0, mock.failures().size)
    }

    @Test
    fun theProcessDiesBeforeAnythingCame() = play("""{"steps":["stall"]}""", MockLlm.text("Hello")) { mock ->
        val first = App(mock)
        first.started()
        first.chat.send("Hi")
        while (mock.requests().isEmpty()) yield()
        first.die()
        val second = App(mock)
        second.chat.restore()
        val state = second.until { !it.running }
        assertEquals(listOf("Hi") to listOf("Hello"), state.said() to state.texts())
    }

    @Test
    fun aToolThatHadBegunIsNotRunAgain() = play(asksForAlice, MockLlm.text("I do not know.")) { mock ->
        val running = CompletableDeferred<Unit>()
        val first = App(mock) {
            runs.incrementAndGet()
            running.complete(Unit)
            awaitCancellation()
        }
        first.started()
        first.chat.send("Alice's?")
        running.await()
        first.die()

        val second = App(mock)
        second.chat.restore()
        val state = second.until { !it.running }
        assertEquals(listOf("I do not know."), state.texts())
        assertContains(state.tools().single().result, "not known")
        assertEquals(1, runs.get())
    }

    @Test
    fun theTurnIsStoppedAndItsConnectionClosed() = play(MockLlm.stall("Well"), MockLlm.text("Gladly.")) { mock ->
        val app = App(mock)
        app.started()
        app.chat.send("Talk")
        app.until { it.texts() == listOf("Well") }
        app.chat.stop()
        assertEquals("Stopped.", app.until { !it.running }.problem)
        assertEquals(0, app.client.dispatcher.runningCallsCount())
        val state = app.say("Go on")
        assertEquals("Gladly.", state.texts().last())
        assertNull(state.problem)
    }

    @Test
    fun aToolThatThrowsIsShownToTheModel() = play(
        MockLlm.call("get_secret_number", """{"name":"carol"}"""),
        MockLlm.text("Nobody knows."),
    ) { mock ->
        val app = App(mock)
        app.started()
        val tool = app.say("Carol's?").tools().single()
        assertEquals(ToolCallStatus.FAILED, tool.status)
        assertContains(tool.result, "carol")
    }

    @Test
    fun theUserIsAsked() = play(asksForAlice, MockLlm.text("Then not.")) { mock ->
        val app = App(mock, definition.copy(requiresApproval = true))
        app.started()
        app.chat.send("Alice's?")
        val question = assertIs<Question.Approval>(app.until { it.questions.isNotEmpty() }.questions.single())
        assertEquals("alice", question.invocation.string("name"))
        app.chat.answer(question, Answer.Denied("not today"))
        val state = app.until { !it.running }
        assertEquals(ToolCallStatus.DENIED, state.tools().single().status)
        assertContains(state.tools().single().result, "not today")
        assertEquals(0, runs.get())
        assertEquals(emptyList(), state.questions)
    }

    @Test
    fun twoToolsAskAtOnce() = play(
        """{"steps":[
            {"tool_call":{"name":"get_secret_number","arguments":{"name":"alice"}}},
            {"tool_call":{"name":"get_secret_number","arguments":{"name":"bob"}}}
        ]}""",
        MockLlm.text("Bob's is 7."),
    ) { mock ->
        val app = App(mock, definition.copy(requiresApproval = true))
        app.started()
        app.chat.send("Both?")
        val (alice, bob) = app.until { it.questions.size == 2 }.questions
        app.chat.answer(bob, Answer.Approved)
        assertEquals(listOf(alice), app.until { it.questions.size == 1 }.questions)
        app.chat.answer(alice, Answer.Denied())
        val state = app.until { !it.running }
        assertEquals(listOf(ToolCallStatus.DENIED, ToolCallStatus.COMPLETED), state.tools().map { it.status })
        assertEquals(listOf("Bob's is 7."), state.texts())
    }

    @Test
    fun aToolsOwnTimeLimitIsAFailure() = play(asksForAlice, MockLlm.text("It took too long.")) { mock ->
        val app = App(mock) { withTimeout(1.milliseconds) { awaitCancellation() } }
        app.started()
        val state = app.say("Alice's?")
        assertEquals(ToolCallStatus.FAILED, state.tools().single().status)
        assertEquals(listOf("It took too long."), state.texts())
    }

    @Test
    fun theAgentAsks() = play(
        agentSays("""{"type":"RUN_FINISHED","threadId":"chat","runId":"r","outcome":{"type":"interrupt","interrupts":[
            {"id":"where","reason":"input_required","message":"Where to?"},
            {"id":"pay","reason":"tool_call","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}
        ]}}"""),
        agentSays("""{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"To Rome."}""", finished),
    ) { mock ->
        val config = RunConfig("ag-ui", baseUrl = mock.baseUrl.removeSuffix("/v1") + "/ag-ui")
        val first = App(config = config)
        first.started()
        first.chat.send("Book it")
        assertEquals(2, first.until { it.questions.size == 2 }.questions.size)
        first.die()

        // The next process asks again.
        val app = App(config = config)
        app.chat.restore()
        val (where, pay) = app.until { it.questions.size == 2 }.questions.map { assertIs<Question.FromAgent>(it) }
        assertEquals(listOf(false, true), listOf(where.isApproval, pay.isApproval))
        app.chat.answer(where, Answer.Said("Rome"))
        app.chat.answer(pay, Answer.Approved)
        val state = app.until { !it.running }
        assertNull(state.problem)
        assertEquals(listOf("To Rome."), state.texts())
        assertEquals(2, mock.requests().size)
        val sent = mock.requests().last().getValue("body").jsonObject.getValue("resume").jsonArray.map { it.jsonObject }
        assertEquals(listOf(JsonPrimitive("Rome"), JsonObject(mapOf("approved" to JsonPrimitive(true)))), sent.map { it["payload"] })
    }

    @Test
    fun aTurnWithoutNetworkWaitsForIt() = play(MockLlm.text("Here I am.")) { mock ->
        val alone = App(config = RunConfig("openai-compatible", "mock", baseUrl = "http://127.0.0.1:2/v1"))
        alone.started()
        alone.chat.networkLost()
        alone.chat.send("Hi")
        assertContains(alone.until { it.problem != null }.problem.orEmpty(), "no network")
        alone.chat.stop()
        assertEquals("Stopped.", alone.until { !it.running }.problem)
        alone.die()

        val app = App(mock)
        app.started()
        app.chat.networkAvailable()
        assertEquals(listOf("Here I am."), app.say("Hi").texts())
    }

    @Test
    fun whatGoesWrongIsSaid() = runBlocking {
        for (case in FirstContact.cases) case.played { baseUrl ->
            val config = RunConfig("openai-compatible", "mock", baseUrl = baseUrl, retry = RetryPolicy(firstDelay = Duration.ZERO))
            val app = App(config = config)
            app.started()
            val state = app.say("Hi")
            assertEquals(listOfNotNull(case.answers), state.texts(), case.name)
            when (val says = case.says) {
                null -> assertNull(state.problem, case.name)
                else -> assertContains(state.problem.orEmpty(), says)
            }
            app.die()
            clean()
            folder.mkdirs()
        }
    }

    @Test
    fun aModelThatFallsSilentIsGivenUp() = play(MockLlm.stall("Well")) { mock ->
        val config = RunConfig(
            "openai-compatible", "mock", baseUrl = mock.baseUrl, timeouts = Timeouts(silence = 50.milliseconds), retry = RetryPolicy(attempts = 1),
        )
        val app = App(config = config)
        app.started()
        assertContains(app.say("Hi").problem.orEmpty(), "silent")
    }

    @Test
    fun aSnapshotThatCannotBeReadIsPutAside() = play { mock ->
        store.write("{}")
        val app = App(mock)
        val state = app.started()
        assertTrue(state.problem.orEmpty().isNotEmpty() && !state.running)
        assertEquals("{}", File(folder, "chat.json.unreadable").readText())
        assertNull(app.say("What are the numbers?").problem)
    }
}
