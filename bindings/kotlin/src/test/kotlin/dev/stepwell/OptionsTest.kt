package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.Test

/** Turns that are otherwise than their agent, and keys and instructions that the app's code gives. */
class OptionsTest {
    private fun agentOf(mock: MockLlm, build: AgentBuilder<Unit>.() -> Unit = {}) =
        Agent(mock.model, build)

    private fun JsonObject.body(): JsonObject = getValue("body").jsonObject

    private fun JsonObject.system(): JsonElement? = body().getValue("messages").jsonArray.first().jsonObject["content"]

    @Test
    fun aTurnIsOtherwiseThanItsAgentAndTheNextOneIsNot() = runBlocking {
        MockLlm(MockLlm.call("own", "{}"), MockLlm.text("Yes."), MockLlm.text("Again.")).use { mock ->
            val agent = agentOf(mock) {
                instructions = "Be kind."
                tool("work", "Works.") { run { "of the agent" } }
                tool("rest", "Rests.") { run { "of the agent" } }
            }
            val options: RunOptions.() -> Unit = {
                instructions = "Be brief."
                settings { temperature = 0.0 }
                toolNames = listOf("rest")
                user = "user-7"
                tool("own", "Of this turn.") { run { "of the turn" } }
            }
            assertEquals("Yes.", agent.run("Hello", options = options).text)
            assertEquals("Again.", agent.run("And?").text)
            val (first, second, next) = mock.requests()
            for (request in listOf(first, second)) {
                assertEquals(JsonPrimitive("Be brief."), request.system())
                assertEquals(JsonPrimitive("user-7"), request.body()["user"])
                assertEquals(2, request.body().getValue("tools").jsonArray.size)
            }
            val result = second.body().getValue("messages").jsonArray.last().jsonObject["content"]
            assertEquals(JsonPrimitive("of the turn"), result)
            assertEquals(JsonPrimitive("Be kind."), next.system())
            val unknown = assertFailsWith<StepwellException.Misuse> {
                agent.run("Hello") { toolNames = listOf("wrok") }
            }
            assertContains(unknown.message, "wrok")
        }
    }

    /** What a block sets changes one setting, and leaves the rest. */
    @Test
    fun aBlockOfARunChangesTheAgentsLimits() = runBlocking<Unit> {
        MockLlm(MockLlm.call("work", "{}"), MockLlm.call("work", "{}")).use { mock ->
            val agent = agentOf(mock) {
                limits { maxToolRounds = 1; atLimit = LimitPolicy.FAIL }
                tool("work", "Works.") { run { "done" } }
            }
            val failed = assertFailsWith<StepwellException.LimitReached> { agent.run("Go") { limits { maxToolCalls = 9 } } }
            val failure = assertIs<Outcome.Failed>(failed.result?.outcome).failure
            assertEquals<Failure>(Failure.LimitReached(TurnLimit.MaxToolRounds(1)), failure)
            assertFailsWith<IllegalArgumentException> { agent.run("Go") { limits { maxToolRounds = -1 } } }
        }
    }

    @Test
    fun theAppGivesTheKeyOfEachRequest() = runBlocking {
        MockLlm("""{"status":401,"error":"Expired"}""", MockLlm.text("Yes.")).use { mock ->
            val agent = agentOf(mock) {
                credentials { request -> Authorization(if (request.rejected) "new" else "old", mapOf("x-team" to "blue")) }
            }
            assertEquals("Yes.", agent.run("Hello").text)
            val sent = mock.requests().map { it.getValue("headers").jsonObject }
            assertEquals(listOf("Bearer old", "Bearer new").map(::JsonPrimitive), sent.map { it["authorization"] })
            assertEquals(JsonPrimitive("blue"), sent.last()["x-team"])
            val nobody = agentOf(mock) { credentials { error("nobody has signed in") } }
            val failed = assertFailsWith<StepwellException.Authentication> { nobody.run("Hello") }
            assertContains(failed.toString(), "nobody has signed in")
        }
    }

    @Test
    fun hooksLookChangeAndRefuse() = runBlocking {
        MockLlm(MockLlm.call("work", """{"to":"Eve"}"""), MockLlm.text("Yes.")).use { mock ->
            val said = mutableListOf<String>()
            val agent = agentOf(mock) {
                tool("work", "Works.") {
                    string("to")
                    run { call -> "for ${call.string("to")}" }
                }
                hook("redact") {
                    beforeRequest { request ->
                        val messages = request.messages.jsonArray.map { it.jsonObject }
                        JsonArray(messages.map { if (it["role"] == JsonPrimitive("user")) JsonObject(it + ("content" to JsonPrimitive("***"))) else it })
                    }
                    beforeTool { JsonObject(mapOf("to" to JsonPrimitive("Ada"))) }
                    afterTool { result -> JsonPrimitive(result.text!!.replace("Ada", "Bob")) }
                    afterAnswer { answer -> said += answer.text }
                }
            }
            assertEquals("Yes.", agent.run("A secret").text)
            assertEquals(listOf("Yes."), said)
            val sent = mock.requests().map { it.getValue("body").jsonObject.getValue("messages").jsonArray }
            assertEquals(JsonPrimitive("***"), sent.first().first().jsonObject["content"])
            assertEquals(JsonPrimitive("for Bob"), sent.last().last().jsonObject["content"])
        }
        MockLlm(MockLlm.text("never")).use { mock ->
            val refusing = agentOf(mock) { hook("guard") { beforeRequest { refuse("not on Sundays") } } }
            val refused = assertFailsWith<StepwellException.Refused> { refusing.run("Hello") }
            assertContains(refused.toString(), "not on Sundays")
            val broken = agentOf(mock) { hook("broken") { beforeRequest { error("no such table") } } }
            val failed = assertFailsWith<StepwellException.Refused> { broken.run("Hello") }
            assertContains(failed.toString(), "no such table")
            assertEquals(0, mock.requests().size)
        }
    }

    @Test
    fun instructionsAreMadeForEachTurn() = runBlocking {
        MockLlm(MockLlm.text("Yes."), MockLlm.text("No.")).use { mock ->
            val agent = agentOf(mock) {
                instructionsFrom { turn -> "${turn.messages.jsonArray.size} in ${turn.thread.thread}." }
            }
            val garden = agent.conversation("garden")
            garden.send("Hello")
            garden.send("And?")
            val said = mock.requests().map { it.system() }
            assertEquals(listOf("0 in garden.", "2 in garden.").map(::JsonPrimitive), said)
            val broken = agentOf(mock) { instructionsFrom { error("no profile") } }
            val failed = assertFailsWith<StepwellException.ToolFailed> { broken.run("Hello") }
            assertContains(failed.toString(), "no profile")
        }
    }

    @Test
    fun javaMakesEverySetting() {
        val config = RunConfig(
            "openai-compatible",
            "mock",
            baseUrl = "http://model.example/v1",
            persistAttempts = 3,
            limits = Limits(maxToolRounds = 5),
            timeouts = Timeouts(silence = 30.seconds, turn = 5.minutes),
            retry = RetryPolicy(attempts = 2, firstDelay = 10.milliseconds),
            settings = GenerationSettings(maxOutputTokens = 100),
        )
        assertEquals(config, JavaSettings.config("http://model.example/v1"))
        assertEquals(TurnOptions(limits = Limits(maxToolRounds = 0), toolNames = emptyList()), JavaSettings.options())
        JavaSettings.machine("http://model.example/v1").use { assertEquals(StateKind.IDLE, it.state()) }
        assertFailsWith<IllegalArgumentException> { LimitsBuilder().maxToolRounds(-1) }
    }
}
