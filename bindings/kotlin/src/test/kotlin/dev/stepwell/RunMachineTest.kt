package dev.stepwell

import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlinx.serialization.json.Json
import org.junit.jupiter.api.Test

/** The sans-IO API, with the JDK's HTTP client. */
class RunMachineTest {
    private val client: HttpClient = HttpClient.newHttpClient()

    private val tool = ToolDefinition(
        "get_secret_number",
        "The secret number of a person.",
        Json.parseToJsonElement(
            """{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}""",
        ),
    )

    private fun config(baseUrl: String = "http://localhost/v1") =
        RunConfig("openai-compatible", "mock", baseUrl = baseUrl, tools = listOf(tool))

    private fun machine(baseUrl: String = "http://localhost/v1") = RunMachine(config(baseUrl), "thread")

    private fun delta(text: String) = """data: {"choices":[{"index":0,"delta":{"content":"$text"}}]}""" + "\n\n"

    private val stop = """data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}""" + "\n\ndata: [DONE]\n\n"

    private fun opened(machine: RunMachine): String {
        val effect = machine.start(Start("run", "Hi")).effects.single().id
        machine.opened(effect, "text/event-stream")
        return effect
    }

    /** The host's loop. */
    private fun drive(machine: RunMachine, begin: Outputs, tools: Map<String, (ToolInvocation) -> String>): List<Event> {
        val events = mutableListOf<Event>()
        val waiting = ArrayDeque(listOf(begin))
        while (waiting.isNotEmpty()) {
            val outputs = waiting.removeFirst()
            events += outputs.events
            for (effect in outputs.effects) {
                when (effect) {
                    is Effect.OpenStream -> waiting += stream(machine, effect)
                    is Effect.RunTool -> waiting += try {
                        machine.toolFinished(effect.id, tools.getValue(effect.invocation.name)(effect.invocation))
                    } catch (error: IllegalStateException) {
                        machine.toolFailed(effect.id, "${error.message}")
                    }
                    else -> error("unexpected: $effect")
                }
            }
        }
        return events
    }

    private fun stream(machine: RunMachine, effect: Effect.OpenStream): List<Outputs> {
        val request = java.net.http.HttpRequest.newBuilder(URI(effect.request.url))
            .method(effect.request.method, BodyPublishers.ofByteArray(effect.request.body))
        effect.request.headers.forEach { request.header(it.name, it.value) }
        val response = client.send(request.build(), BodyHandlers.ofInputStream())
        if (response.statusCode() / 100 != 2) {
            return listOf(machine.refused(effect.id, response.statusCode(), response.body().readAllBytes()))
        }
        val outputs = mutableListOf(
            machine.opened(effect.id, response.headers().firstValue("content-type").orElse(null)),
        )
        val chunk = ByteArray(1024)
        response.body().use { body ->
            while (true) {
                val length = body.read(chunk)
                if (length < 0) break
                outputs += machine.receive(effect.id, chunk, length)
            }
        }
        return outputs + machine.ended(effect.id)
    }

    @Test
    fun secretNumbers() {
        MockLlm().use { mock ->
            val machine = machine(mock.baseUrl)
            val numbers = mapOf("alice" to "42", "bob" to "7")
            val events = drive(
                machine,
                machine.start(Start("run", "What are the numbers?")),
                mapOf("get_secret_number" to { call -> numbers.getValue(call.string("name")) }),
            )
            assertEquals(Event.Completed(Outcome.Success), events.last())
            assertTrue(machine.text().endsWith("Alice's number is 42, Bob's is 7"))
            assertEquals(StateKind.COMPLETED to 1, machine.state() to machine.hop())
            assertEquals(0, mock.failures().size)
        }
    }

    @Test
    fun aToolThatThrows() {
        MockLlm(MockLlm.call("get_secret_number", """{"name":"carol"}"""), MockLlm.text("Nobody knows")).use { mock ->
            val machine = machine(mock.baseUrl)
            val events = drive(
                machine,
                machine.start(Start("run", "Carol's?")),
                mapOf("get_secret_number" to { _ -> error("nobody by that name") }),
            )
            val failed = ToolResult.Failed(ToolFailureKind.ERROR, "nobody by that name")
            assertEquals(failed, events.filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }.single())
            assertEquals(Outcome.Success, machine.outcome())
        }
    }

    @Test
    fun aRefusedRequest() {
        MockLlm("""{"status":401,"error":"Incorrect API key provided"}""").use { mock ->
            val machine = machine(mock.baseUrl)
            drive(machine, machine.start(Start("run", "Hi")), emptyMap())
            assertContains(assertIs<Outcome.Failed>(machine.outcome()).message, "Incorrect API key provided")
        }
    }

    @Test
    fun javaHandsARefusalOn() {
        val refused = machine()
        JavaSettings.refused(refused, refused.start(Start("run", "Hi")).effects.single().id)
        assertIs<Outcome.Failed>(refused.outcome())
        val busy = machine()
        val effect = busy.start(Start("run", "Hi")).effects.single().id
        val events = JavaSettings.refused(busy, effect, 2.seconds.toJavaDuration()).events
        assertEquals(2.seconds, events.filterIsInstance<Event.Retrying>().single().delay)
    }

    @Test
    fun snapshotAndRestoreAnywhere() {
        val body = (delta("Grü") + delta("ße") + stop).toByteArray()
        for (cut in body.indices) {
            val first = machine()
            val effect = opened(first)
            first.receive(effect, body, cut)
            val second = RunMachine.restore(first.snapshot(), config())
            assertEquals(0, second.pollOutputs().effects.size)
            second.receive(effect, body.copyOfRange(cut, body.size))
            second.ended(effect)
            assertEquals("Grüße" to Outcome.Success, second.text() to second.outcome())
        }
    }

    @Test
    fun aLargeChunkAndAnEmptyOne() {
        val machine = machine()
        val effect = opened(machine)
        val text = "x".repeat(100_000)
        machine.receive(effect, delta(text).toByteArray())
        machine.receive(effect, ByteArray(0))
        assertEquals(text, machine.text())
    }

    @Test
    fun cancelDropsLateAnswers() {
        val machine = machine()
        val effect = opened(machine)
        val outputs = machine.cancel()
        assertEquals(listOf<Effect>(Effect.CloseStream(effect)), outputs.effects)
        assertEquals(Event.Completed(Outcome.Cancelled), outputs.events.last())
        assertContains(machine.receive(effect, delta("late").toByteArray()).events, Event.AnswerDropped(effect))
    }

    @Test
    fun wrongCallsAreRefusedAndChangeNothing() {
        val machine = machine()
        val effect = opened(machine)
        assertFailsWith<StepwellException.Misuse> { machine.start(Start("again", "Hi")) }
        assertFailsWith<StepwellException.Misuse> { machine.toolFinished(effect, "42") }
        assertFailsWith<StepwellException.Misuse> { machine.ended("stream") }
        assertFailsWith<StepwellException.InvalidSnapshot> { RunMachine.restore("{}", config()) }
        assertEquals(StateKind.STREAMING, machine.state())
        machine.receive(effect, (delta("Hello") + stop).toByteArray())
        machine.ended(effect)
        assertEquals(Outcome.Success, machine.outcome())
    }
}
