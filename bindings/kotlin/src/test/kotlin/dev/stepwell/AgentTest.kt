package dev.stepwell

import java.io.ByteArrayOutputStream
import java.io.PrintStream
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.takeWhile
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test

class AgentTest {
    private val numbers = mapOf("alice" to 42, "bob" to 7)

    private fun secretNumbers(mock: MockLlm, more: AgentBuilder.() -> Unit = {}) =
        agent("openai-compatible", "mock", mock.baseUrl) {
            tool("get_secret_number", "The secret number of a person.") {
                string("name", "The user's name.")
                run { call -> numbers.getValue(call.string("name")) }
            }
            more()
        }

    private fun List<Event>.outcome(): Outcome = assertIs<Event.Completed>(last()).outcome

    private fun List<Event>.text(): String =
        filterIsInstance<Event.TextMessageContent>().joinToString("") { it.delta }

    private fun List<Event>.results(): List<ToolResult> = filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }

    @Test
    fun secretNumbers() = runBlocking {
        MockLlm().use { mock ->
            val agent = secretNumbers(mock)
            val events = agent.send("What are Alice's and Bob's secret numbers?").toList()
            assertIs<Event.Started>(events.first())
            assertEquals(Outcome.Success, events.outcome())
            assertTrue(events.text().endsWith("Alice's number is 42, Bob's is 7"))
            assertEquals(setOf("42", "7"), events.results().map { assertIs<ToolResult.Finished>(it).content }.toSet())
            assertTrue(agent.text().endsWith("Alice's number is 42, Bob's is 7"))
            assertEquals(0, mock.failures().size)
        }
    }

    @Test
    fun aTurnCanBeWaitedFor() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            val finished = secretNumbers(mock).sendAndWait("Hi")
            assertEquals(Outcome.Success, finished.outcome)
            assertEquals("Hello", finished.text)
            assertEquals(1u, finished.hops)
        }
    }

    @Test
    fun aToolThatThrowsIsShownToTheModel() = runBlocking {
        MockLlm(MockLlm.call("get_secret_number", """{"name":"carol"}"""), MockLlm.text("Nobody knows")).use { mock ->
            val events = secretNumbers(mock).send("Carol's?").toList()
            val failed = assertIs<ToolResult.Failed>(events.results().single())
            assertEquals(ToolFailureKind.PANICKED, failed.kind)
            assertContains(failed.message, "NoSuchElementException")
            assertEquals(Outcome.Success, events.outcome())
            val messages = mock.requests()[1].getValue("body").jsonObject.getValue("messages").jsonArray
            assertContains(messages.last().jsonObject.getValue("content").jsonPrimitive.content, "carol")
        }
    }

    @Test
    fun anAgUiAgentIsToldWhatTheAppKnows() = runBlocking {
        val change = """{"type":"STATE_DELTA","delta":[{"op":"add","path":"/pages","value":2}]}"""
        MockLlm("""{"steps":[{"raw_frame":$change},{"text":"Hello"}]}""").use { mock ->
            val agent = agent("ag-ui", baseUrl = mock.baseUrl.removeSuffix("/v1") + "/ag-ui") {
                settings = GenerationSettings(context = listOf(ContextEntry("The page", "Orders")))
                agUi = AgUiOptions(isBefore10 = true)
                sharedState = Json.parseToJsonElement("""{"colour":"blue"}""")
            }
            assertEquals(Outcome.Success, agent.sendAndWait("Hi").outcome)
            assertEquals("""{"colour":"blue","pages":2}""", agent.sharedState().toString())
            val body = mock.requests().single().getValue("body").jsonObject
            assertEquals("""{"colour":"blue"}""", body.getValue("state").toString())
            assertEquals("""[{"description":"The page","value":"Orders"}]""", body.getValue("context").toString())
            assertTrue("protocolVersion" !in body)
        }
    }

    @Test
    fun aToolMayDeclareItsError() = runBlocking {
        MockLlm(MockLlm.call("refuse", "{}"), MockLlm.text("I see")).use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl) {
                tool("refuse", "Refuses.") { run { throw ToolException.Failed("not on Sundays") } }
            }
            val events = agent.send("Go").toList()
            assertEquals(ToolResult.Failed(ToolFailureKind.ERROR, "not on Sundays"), events.results().single())
        }
    }

    @Test
    fun anUnknownToolAndArgumentsThatDoNotFit() = runBlocking {
        for ((name, arguments, why) in listOf(
            Triple("get_number", "{}", "there is no tool named"),
            Triple("get_secret_number", "{}", "do not fit its schema"),
        )) {
            MockLlm(MockLlm.call(name, arguments), MockLlm.text("Sorry")).use { mock ->
                val events = secretNumbers(mock).send("Go").toList()
                val failed = assertIs<ToolResult.Failed>(events.results().single())
                assertEquals(ToolFailureKind.REJECTED, failed.kind)
                assertContains(failed.message, why)
                assertEquals(Outcome.Success, events.outcome())
            }
        }
    }

    @Test
    fun toolsRunSideBySide() = runBlocking {
        val arrived = List(2) { CompletableDeferred<Unit>() }
        MockLlm().use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl) {
                tool("get_secret_number", "Meets the other.") {
                    string("name")
                    run { call ->
                        arrived[if (call.string("name") == "alice") 0 else 1].complete(Unit)
                        arrived.forEach { it.await() }
                        "met"
                    }
                }
            }
            assertEquals(Outcome.Success, agent.send("Go").toList().outcome())
        }
    }

    @Test
    fun cancellingTheCollectorStopsASlowTool() = runBlocking {
        val running = CompletableDeferred<Unit>()
        val stopped = CompletableDeferred<Unit>()
        MockLlm(MockLlm.call("slow", "{}")).use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl) {
                tool("slow", "Never ends.") {
                    run {
                        running.complete(Unit)
                        try {
                            awaitCancellation()
                        } finally {
                            stopped.complete(Unit)
                        }
                    }
                }
            }
            val collector = launch { agent.send("Go").collect {} }
            running.await()
            collector.cancelAndJoin()
            stopped.await()
        }
    }

    @Test
    fun leavingTheFlowCancelsTheTurn() = runBlocking {
        MockLlm(MockLlm.stall("Well"), MockLlm.text("Again")).use { mock ->
            val agent = secretNumbers(mock)
            agent.send("Go").filterIsInstance<Event.TextMessageContent>().first()
            assertEquals(Outcome.Success, agent.sendAndWait("Go on").outcome)
        }
    }

    @Test
    fun cancelFromElsewhereEndsTheFlow() = runBlocking {
        MockLlm(MockLlm.stall("Well")).use { mock ->
            val agent = secretNumbers(mock)
            val began = CompletableDeferred<Unit>()
            val events: Deferred<List<Event>> = async {
                val seen = mutableListOf<Event>()
                agent.send("Go").collect {
                    seen += it
                    if (it is Event.TextMessageContent) began.complete(Unit)
                }
                seen
            }
            began.await()
            agent.cancel()
            assertEquals(Outcome.Cancelled, events.await().outcome())
        }
    }

    @Test
    fun aListenerThatThrowsDoesNotStopTheTurn() = runBlocking {
        val heard = CopyOnWriteArrayList<Event>()
        val listener = object : Listener {
            override fun onEvents(events: List<Event>) {
                heard += events
                error("the screen is gone")
            }
        }
        MockLlm().use { mock ->
            val finished = secretNumbers(mock).sendToListener("Go", listener)
            assertEquals(Outcome.Success, finished.outcome)
            assertEquals(Outcome.Success, heard.toList().outcome())
        }
    }

    @Test
    fun theUserIsAsked() = runBlocking {
        for (decision in listOf(Decision.Granted, Decision.Denied("not today"))) {
            MockLlm(MockLlm.call("pay", """{"amount":5}"""), MockLlm.text("Done")).use { mock ->
                val agent = agent("openai-compatible", "mock", mock.baseUrl) {
                    tool("pay", "Pays.") {
                        requiresApproval = true
                        number("amount")
                        run { call -> "paid ${call.number("amount")}" }
                    }
                    approver { decision }
                }
                when (val result = agent.send("Pay").toList().results().single()) {
                    is ToolResult.Finished -> assertEquals("paid 5.0" to Decision.Granted, result.content to decision)
                    is ToolResult.Failed -> {
                        assertEquals(ToolFailureKind.DENIED, result.kind)
                        assertContains(result.message, "not today")
                    }
                }
            }
        }
    }

    @Test
    fun anApproverThatBreaksOffCountsAsNo() = runBlocking {
        MockLlm(MockLlm.call("pay", "{}"), MockLlm.text("Done")).use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl) {
                tool("pay", "Pays.") {
                    requiresApproval = true
                    run { "paid" }
                }
                approver { TODO("ask the user") }
            }
            val result = assertIs<ToolResult.Failed>(agent.send("Pay").toList().results().single())
            assertEquals(ToolFailureKind.DENIED, result.kind)
        }
    }

    @Test
    fun aWrongKey() = runBlocking {
        MockLlm("""{"status":401,"error":"Incorrect API key provided"}""").use { mock ->
            val agent = agent("openai", "mock", mock.baseUrl, key = "wrong")
            val failed = assertIs<Outcome.Failed>(agent.startTurn("Hi").use { it.finish() }.outcome)
            val api = assertIs<Failure.Api>(failed.failure)
            assertEquals(ApiErrorKind.AUTHENTICATION to 401, api.kind to api.status.toInt())
        }
    }

    @Test
    fun whatCannotWorkIsSaidAtOnce() {
        val error = assertFailsWith<StepwellException.Configuration> { agent("opnai") }
        assertContains(error.reason, "there is no provider `opnai`")
        assertContains(error.advice, "openai-compatible")
        assertContains(error.toString(), error.advice)
        assertFailsWith<StepwellException.Configuration> { agent("openai", "m") }
    }

    @Test
    fun keysAreNotPrinted() {
        assertTrue("sk-secret" !in RunConfig("openai", "m", key = "sk-secret").toString())
    }

    @Test
    fun turnsFollowEachOther() = runBlocking {
        MockLlm().use { mock ->
            val agent = secretNumbers(mock)
            repeat(3) {
                assertEquals(Outcome.Success, agent.send("Go").toList().outcome())
            }
            val some = agent.send("Go").takeWhile { it !is Event.ToolCallStart }.toList()
            assertTrue(some.isNotEmpty())
        }
    }

    @Test
    fun theFirstPrograms() {
        for (program in listOf<(Array<String>) -> Unit>({ hello.main(it) }, { ask.main(it) })) MockLlm().use { mock ->
            val printed = ByteArrayOutputStream()
            val out = System.out
            System.setOut(PrintStream(printed))
            try {
                program(arrayOf(mock.baseUrl))
            } finally {
                System.setOut(out)
            }
            assertTrue(printed.toString().trimEnd().endsWith("Alice's number is 42, Bob's is 7"))
        }
    }

    @Test
    fun theProgramWithATokenGetsAnotherOne() {
        MockLlm("""{"status":401,"error":"Expired"}""", MockLlm.text("Oslo.")).use { mock ->
            tokens.main(arrayOf(mock.baseUrl))
            val last = mock.requests().last()
            val key = last.getValue("headers").jsonObject["authorization"]
            assertEquals(JsonPrimitive("Bearer new"), key)
            val said = last.getValue("body").jsonObject.getValue("messages").jsonArray.first().jsonObject["content"]
            assertEquals(JsonPrimitive("Answer in one word."), said)
        }
    }

    @Test
    fun theProgramWithAGuard() {
        val call = MockLlm.call("get_secret_number", """{"name":"bob"}""")
        MockLlm(call, MockLlm.text("Alice's is 42.")).use { mock ->
            val printed = ByteArrayOutputStream()
            val out = System.out
            System.setOut(PrintStream(printed))
            try {
                guard.main(arrayOf(mock.baseUrl))
            } finally {
                System.setOut(out)
            }
            assertTrue("it tells the number" in printed.toString())
            assertTrue("Bob's is his own" in mock.requests().last().toString())
        }
    }

    @Test
    fun theProgramWithABudget() {
        MockLlm("""{"steps":[{"text":"Hi."}],"usage":{"input":100,"output":10}}""").use { mock ->
            val printed = ByteArrayOutputStream()
            val out = System.out
            System.setOut(PrintStream(printed))
            try {
                budget.main(arrayOf(mock.baseUrl))
            } finally {
                System.setOut(out)
            }
            assertEquals("Hi. It cost 0.0000210 US dollars", printed.toString().trimEnd())
        }
        assertEquals(0.15, modelPrice("openai", "gpt-4o-mini")?.input)
        assertFailsWith<StepwellException.Configuration> {
            agent("ollama", "llama3.3") { limits = Limits(maxCost = 1.0) }
        }
    }

    @Test
    fun theFirstProgramSaysWhatGoesWrong() = runBlocking {
        // Side by side: some of them pause before they try again.
        for (case in FirstContact.cases) launch(Dispatchers.IO) {
            case.played { baseUrl ->
                val wrong = runCatching { hello.main(arrayOf(baseUrl)) }.exceptionOrNull()
                when (val says = case.says) {
                    null -> assertNull(wrong, case.name)
                    else -> assertContains(assertIs<IllegalStateException>(wrong, case.name).message.orEmpty(), says)
                }
            }
        }
    }

    @Test
    fun theFirstProgramIsStoppedWhileTheModelIsSilent() {
        MockLlm(MockLlm.stall("Well")).use { mock ->
            val ended = CompletableFuture<Throwable?>()
            val program = thread { ended.complete(runCatching { hello.main(arrayOf(mock.baseUrl)) }.exceptionOrNull()) }
            while (mock.requests().isEmpty()) Thread.onSpinWait()
            program.interrupt()
            assertIs<InterruptedException>(ended.get(20, TimeUnit.SECONDS))
        }
    }

    @Test
    fun aModelThatFallsSilentIsGivenUp() {
        MockLlm(MockLlm.stall("Well")).use { mock ->
            assertFailsWith<TurnException.TimedOut> {
                runBlocking {
                    secretNumbers(mock) {
                        timeouts = Timeouts(silence = 50.milliseconds)
                        retry = RetryPolicy(attempts = 1u)
                    }.sendAndWait("Hi")
                }
            }
        }
    }

    @Test
    fun nobodyToAskIsAnAnswerToo() = runBlocking {
        val pays = """{"tool_call":{"name":"pay","arguments":{}}}"""
        MockLlm("""{"steps":[$pays,$pays]}""", MockLlm.text("Then not.")).use { mock ->
            val agent = agent("openai-compatible", "mock", mock.baseUrl) {
                tool("pay", "Pays.") {
                    requiresApproval = true
                    run { "paid" }
                }
            }
            val kinds = agent.send("Pay").toList().results().map { assertIs<ToolResult.Failed>(it).kind }
            assertEquals(listOf(ToolFailureKind.DENIED, ToolFailureKind.DENIED), kinds)
        }
        val started = """{"type":"RUN_STARTED","threadId":"t","runId":"r"}"""
        val asks = """{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[
            {"id":"where","reason":"input_required"}]}}"""
        MockLlm("""{"bare":true,"steps":[{"raw_frame":$started},{"raw_frame":$asks}]}""", MockLlm.text("Then not.")).use { mock ->
            val agent = agent("ag-ui", baseUrl = mock.baseUrl.removeSuffix("/v1") + "/ag-ui")
            assertEquals("Then not.", agent.sendAndWait("Book it").text)
        }
    }

    @Test
    fun waitingThrowsByKind() {
        MockLlm("""{"status":401,"error":"Incorrect API key provided"}""").use { mock ->
            val wrong = assertFailsWith<TurnException.Authentication> {
                runBlocking { secretNumbers(mock).sendAndWait("Hi") }
            }
            assertEquals(ProblemKind.AUTHENTICATION, wrong.problem.kind)
            assertEquals(false, wrong.problem.retryable)
            assertIs<Outcome.Failed>(wrong.finished.outcome)
        }
    }
}
