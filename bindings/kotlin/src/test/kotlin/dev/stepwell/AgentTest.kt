package dev.stepwell

import java.io.ByteArrayOutputStream
import java.io.PrintStream
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeoutException
import kotlin.concurrent.thread
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertSame
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CompletableDeferred
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

    private fun secretNumbers(mock: MockLlm, more: AgentBuilder<Unit>.() -> Unit = {}) =
        Agent(mock.model) {
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
            val events = agent.stream("What are Alice's and Bob's secret numbers?").events.toList()
            assertIs<Event.Started>(events.first())
            assertEquals(Outcome.Success, events.outcome())
            assertTrue(events.text().endsWith("Alice's number is 42, Bob's is 7"))
            assertEquals(setOf("42", "7"), events.results().map { assertIs<ToolResult.Finished>(it).content }.toSet())
            assertEquals(0, mock.failures().size)
        }
    }

    @Test
    fun aTurnCanBeWaitedFor() = runBlocking {
        MockLlm(MockLlm.text("Hello")).use { mock ->
            val result = secretNumbers(mock).run("Hi")
            assertEquals(StopReason.COMPLETE to 1, result.stopReason to result.hops)
            assertEquals(listOf("Hello", "Hello", "Hello"), listOf(result.output, result.text, result.fullText))
            assertEquals(listOf("Hi", "Hello"), listOf((result.messages[0] as UserMessage).text, (result.messages[1] as AssistantMessage).text))
        }
    }

    @Test
    fun theModelIsToldThatAToolThrew() = runBlocking {
        MockLlm(MockLlm.call("get_secret_number", """{"name":"carol"}"""), MockLlm.text("Nobody knows")).use { mock ->
            val events = secretNumbers(mock).stream("Carol's?").events.toList()
            val failed = assertIs<ToolResult.Failed>(events.results().single())
            assertEquals(ToolFailureKind.PANICKED, failed.kind)
            assertEquals("`get_secret_number` failed because of a mistake in its code", failed.message)
            assertEquals(Outcome.Success, events.outcome())
            val messages = mock.requests()[1].getValue("body").jsonObject.getValue("messages").jsonArray
            assertContains(messages.last().jsonObject.getValue("content").jsonPrimitive.content, "a mistake in its code")
        }
    }

    @Test
    fun anAgUiAgentIsToldWhatTheAppKnows() = runBlocking {
        val change = """{"type":"STATE_DELTA","delta":[{"op":"add","path":"/pages","value":2}]}"""
        MockLlm("""{"steps":[{"raw_frame":$change},{"text":"Hello"}]}""").use { mock ->
            val agent = Agent(Model.agUi(mock.baseUrl.removeSuffix("/v1") + "/ag-ui")) {
                settings { context = listOf(ContextEntry("The page", "Orders")) }
                agUi { isBefore10 = true }
            }
            val conversation = agent.conversation(sharedState = Json.parseToJsonElement("""{"colour":"blue"}"""))
            conversation.send("Hi")
            assertEquals("""{"colour":"blue","pages":2}""", conversation.sharedState.toString())
            val body = mock.requests().single().getValue("body").jsonObject
            assertEquals("""{"colour":"blue"}""", body.getValue("state").toString())
            assertEquals("""[{"description":"The page","value":"Orders"}]""", body.getValue("context").toString())
            assertTrue("protocolVersion" !in body)
        }
    }

    @Test
    fun aToolMayDeclareItsError() = runBlocking {
        MockLlm(MockLlm.call("refuse", "{}"), MockLlm.text("I see")).use { mock ->
            val agent = Agent(mock.model) {
                tool("refuse", "Refuses.") { run { throw ToolException.Failed("not on Sundays") } }
            }
            val events = agent.stream("Go").events.toList()
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
                val events = secretNumbers(mock).stream("Go").events.toList()
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
            val agent = Agent(mock.model) {
                tool("get_secret_number", "Meets the other.") {
                    string("name")
                    run { call ->
                        arrived[if (call.string("name") == "alice") 0 else 1].complete(Unit)
                        arrived.forEach { it.await() }
                        "met"
                    }
                }
            }
            assertEquals(Outcome.Success, agent.stream("Go").events.toList().outcome())
        }
    }

    @Test
    fun cancellingTheCollectorStopsASlowTool() = runBlocking {
        val running = CompletableDeferred<Unit>()
        val stopped = CompletableDeferred<Unit>()
        MockLlm(MockLlm.call("slow", "{}")).use { mock ->
            val agent = Agent(mock.model) {
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
            val collector = launch { agent.stream("Go").events.collect {} }
            running.await()
            collector.cancelAndJoin()
            stopped.await()
        }
    }

    @Test
    fun leavingTheFlowCancelsTheTurn() = runBlocking {
        MockLlm(MockLlm.stall("Well"), MockLlm.text("Again")).use { mock ->
            val agent = secretNumbers(mock)
            agent.stream("Go").events.filterIsInstance<Event.TextMessageContent>().first()
            assertEquals("Again", agent.run("Go on").text)
        }
    }

    @Test
    fun cancelFromElsewhereFailsTheFlow() = runBlocking {
        MockLlm(MockLlm.stall("Well")).use { mock ->
            val turn = secretNumbers(mock).stream("Go")
            val began = CompletableDeferred<Unit>()
            val collected = async {
                assertFailsWith<StepwellException.Cancelled> {
                    turn.events.collect { if (it is Event.TextMessageContent) began.complete(Unit) }
                }
            }
            began.await()
            turn.cancel()
            val failed = collected.await()
            assertEquals("Well" to StopReason.CANCELLED, failed.result?.text to failed.result?.stopReason)
            assertSame(failed, assertFailsWith<StepwellException.Cancelled> { turn.result() })
            assertFailsWith<StepwellException.Misuse> { turn.steer("More") }
            assertFailsWith<StepwellException.Misuse> { turn.events.toList() }
        }
    }

    @Test
    fun aTurnThatIsCancelledBeforeItBeginsAsksNothingMore() = runBlocking<Unit> {
        MockLlm(MockLlm.stall("Well")).use { mock ->
            val turn = secretNumbers(mock).stream("Go")
            turn.cancel()
            assertFailsWith<StepwellException.Cancelled> { turn.result() }
        }
    }

    @Test
    fun theUserIsAsked() = runBlocking {
        for (decision in listOf(Decision.Granted, Decision.Denied("not today"))) {
            MockLlm(MockLlm.call("pay", """{"amount":5}"""), MockLlm.text("Done")).use { mock ->
                val agent = Agent(mock.model) {
                    tool("pay", "Pays.") {
                        requiresApproval = true
                        number("amount")
                        run { call -> "paid ${call.number("amount")}" }
                    }
                    approver { decision }
                }
                when (val result = agent.stream("Pay").events.toList().results().single()) {
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
            val agent = Agent(mock.model) {
                tool("pay", "Pays.") {
                    requiresApproval = true
                    run { "paid" }
                }
                approver { TODO("ask the user") }
            }
            val result = assertIs<ToolResult.Failed>(agent.stream("Pay").events.toList().results().single())
            assertEquals(ToolFailureKind.DENIED, result.kind)
        }
    }

    @Test
    fun aWrongKey() = runBlocking<Unit> {
        MockLlm("""{"status":401,"error":"Incorrect API key provided"}""").use { mock ->
            val agent = Agent(Model.openai("mock", "wrong", mock.baseUrl))
            val turn = agent.stream("Hi")
            val failed = assertFailsWith<StepwellException.Authentication> { turn.events.collect {} }
            assertEquals(401 to "openai", failed.status to failed.provider)
            assertSame(failed, assertFailsWith<StepwellException.Authentication> { turn.result() })
        }
    }

    @Test
    fun whatCannotWorkIsSaidByTheFirstRun() = runBlocking<Unit> {
        val error = assertFailsWith<StepwellException.Misuse> { Agent("opnai:gpt").run("Hi") }
        assertContains(error.message, "there is no provider `opnai`")
        assertContains(error.advice, "openai-compatible")
        assertContains(error.toString(), error.advice)
        assertNull(error.result)
        val noKey = Model("openai-keyless", "m", customProviders = KEYLESS)
        assertContains(assertFailsWith<StepwellException.Misuse> { Agent(noKey).conversation() }.advice, "`NO_SUCH_VARIABLE`")
        assertContains(assertFailsWith<StepwellException.Misuse> { Agent("gpt") }.advice, "openai:")
    }

    @Test
    fun keysAreNotPrinted() {
        val model = Model.openai("m", "sk-secret")
        for (shown in listOf(model, RunConfig("openai", "m", key = "sk-secret"))) assertTrue("sk-secret" !in shown.toString())
    }

    @Test
    fun turnsFollowEachOther() = runBlocking {
        MockLlm().use { mock ->
            val agent = secretNumbers(mock)
            repeat(3) {
                assertEquals(Outcome.Success, agent.stream("Go").events.toList().outcome())
            }
            val some = agent.stream("Go").events.takeWhile { it !is Event.ToolCallStart }.toList()
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
        assertFailsWith<StepwellException.Misuse> { runBlocking { Agent("ollama:llama3.3") { limits { maxCost = 1.0 } }.run("Hi") } }
    }

    @Test
    fun theFirstProgramSaysWhatGoesWrong() = runBlocking {
        // Side by side: some of them pause before they try again.
        for (case in FirstContact.cases) launch(Dispatchers.IO) {
            case.played { baseUrl ->
                val wrong = runCatching { hello.main(arrayOf(baseUrl)) }.exceptionOrNull()
                when (val says = case.says) {
                    null -> assertNull(wrong, case.name)
                    else -> assertContains(assertIs<StepwellException>(wrong, case.name).toString(), says)
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
            val late = assertFailsWith<StepwellException.Timeout> {
                runBlocking {
                    secretNumbers(mock) {
                        timeouts { silence = 50.milliseconds }
                        retry { attempts = 1 }
                    }.run("Hi")
                }
            }
            assertIs<TimeoutException>(late.cause)
        }
    }

    @Test
    fun nobodyToAskIsAnAnswerToo() = runBlocking {
        val pays = """{"tool_call":{"name":"pay","arguments":{}}}"""
        MockLlm("""{"steps":[$pays,$pays]}""", MockLlm.text("Then not.")).use { mock ->
            val agent = Agent(mock.model) {
                tool("pay", "Pays.") {
                    requiresApproval = true
                    run { "paid" }
                }
            }
            assertEquals("Then not.", agent.run("Pay").text)
        }
        val started = """{"type":"RUN_STARTED","threadId":"t","runId":"r"}"""
        val asks = """{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[
            {"id":"where","reason":"input_required"}]}}"""
        MockLlm("""{"bare":true,"steps":[{"raw_frame":$started},{"raw_frame":$asks}]}""", MockLlm.text("Then not.")).use { mock ->
            val agent = Agent(Model.agUi(mock.baseUrl.removeSuffix("/v1") + "/ag-ui"))
            assertEquals("Then not.", agent.run("Book it").text)
        }
    }

    private companion object {
        val KEYLESS = Json.parseToJsonElement(
            """{"providers":[{"name":"openai-keyless","dialect":"openai-chat","base_url":"https://x.example/v1",
            "key_variable":"NO_SUCH_VARIABLE"}]}""",
        )
    }
}
