package dev.stepwell

import java.time.Instant
import java.time.temporal.ChronoUnit
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.minutes
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.junit.jupiter.api.Test

/** What may become of a tool call, and how far a turn may go; the test plays the network itself. */
class CallsAndLimitsTest {
    private val schema =
        Json.parseToJsonElement("""{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}""")

    private val order = ToolDefinition("order", "Orders something.", schema)

    private fun config(
        tool: ToolDefinition = order,
        limits: Limits = Limits(),
        timeouts: Timeouts = Timeouts(),
        device: DevicePolicy = DevicePolicy(),
    ) = RunConfig(
        "openai-compatible",
        "mock",
        baseUrl = "http://localhost/v1",
        tools = listOf(tool),
        limits = limits,
        timeouts = timeouts,
        device = device,
    )

    /** A whole answer that asks for things to be ordered. */
    private fun asks(vararg things: String): String {
        val calls = things.withIndex().joinToString(",") { (index, thing) ->
            """{"index":$index,"id":"$thing","function":{"name":"order","arguments":"{\"what\":\"$thing\"}"}}"""
        }
        return """data: {"choices":[{"index":0,"delta":{"tool_calls":[$calls]},"finish_reason":"tool_calls"}]}""" + END
    }

    private fun says(text: String) =
        """data: {"choices":[{"index":0,"delta":{"content":"$text"},"finish_reason":"stop"}]}""" + END

    /** Answers the request among the outputs; what came of it. */
    private fun answer(machine: RunMachine, outputs: Outputs, body: String, now: Instant = NOW): Outputs {
        val request = outputs.effects.filterIsInstance<Effect.OpenStream>().single()
        machine.opened(request.id, "text/event-stream", now)
        val received = machine.receive(request.id, body.toByteArray(), now = now)
        val ended = machine.ended(request.id, now)
        return Outputs(received.events + ended.events, received.effects + ended.effects, ended.wakeAt)
    }

    private fun begin(machine: RunMachine, vararg things: String): Outputs =
        answer(machine, machine.start(Start("run", "Hi"), NOW), asks(*things))

    private fun updates(outputs: Outputs, toolCallId: String) =
        outputs.events.filterIsInstance<Event.ToolCallUpdate>().filter { it.toolCallId == toolCallId }

    @Test
    fun oneCallIsCancelledAndTheOtherGoesOn() {
        val machine = RunMachine(config(), "thread")
        val (tea, cake) = begin(machine, "tea", "cake").effects.map { assertIs<Effect.RunTool>(it) }
        val outputs = machine.cancelCall(cake.invocation.call)
        assertEquals(listOf<Effect>(Effect.CancelTool(cake.id)), outputs.effects)
        val update = updates(outputs, "cake").single()
        assertEquals(ToolCallStatus.CANCELLED, update.status)
        assertEquals(ToolFailureKind.CANCELLED, assertIs<ToolResult.Failed>(update.result).kind)
        assertContains(machine.toolFinished(cake.id, "late").events, Event.AnswerDropped(cake.id))
        answer(machine, machine.toolFinished(tea.id, "ordered"), says("Tea only."))
        assertEquals("Tea only." to Outcome.Success, machine.text() to machine.outcome())
    }

    @Test
    fun aDeferredResultWakesTheRunInAnotherProcess() {
        for (restore in listOf(true, false)) {
            val first = RunMachine(config(), "thread")
            val running = begin(first, "tea").effects.single()
            assertFalse(first.isResting())
            assertEquals(TimerKey.Tool(CallKey(0, 0)), first.timeoutReason())
            val outputs = first.toolDeferred(running.id, NOW)
            assertEquals(ToolCallStatus.DEFERRED, updates(outputs, "tea").single().status)
            assertNull(outputs.wakeAt)
            assertTrue(first.isResting())
            val snapshot = first.snapshot()
            first.close()

            val later = NOW.plus(3, ChronoUnit.DAYS)
            val second =
                if (restore) RunMachine.restore(snapshot, config()) else RunMachine.revive(snapshot, config(), later)
            assertEquals(0, second.pollOutputs().effects.size)
            assertNull(second.awaitedResult("cake"))
            val effect = second.awaitedResult("tea")
            assertEquals(running.id, effect)
            answer(second, second.toolFinished(running.id, "here it is", later), says("Enjoy!"), later)
            assertEquals("Enjoy!" to Outcome.Success, second.text() to second.outcome())
            assertNull(second.awaitedResult("tea"))
        }
    }

    @Test
    fun aCallIsAllowedWithOtherArguments() {
        val asking = ToolDefinition("order", "Orders something.", schema, requiresApproval = true)
        val machine = RunMachine(config(asking, timeouts = Timeouts(approval = 10.minutes)), "thread")
        val ask = assertIs<Effect.AskApproval>(begin(machine, "cake").effects.single())
        assertEquals(TimerKey.Approval(CallKey(0, 0)), machine.timeoutReason())
        val wrong = assertFailsWith<StepwellException.Misuse> { machine.approve(ask.id, JsonObject(emptyMap())) }
        assertContains(wrong.message, "the edited arguments do not fit")
        val edited = JsonObject(mapOf("what" to JsonPrimitive("fruit")))
        val running = assertIs<Effect.RunTool>(machine.approve(ask.id, NOW, edited).effects.single())
        assertEquals("fruit", running.invocation.string("what"))
    }

    @Test
    fun aLimitEndsTheTurnAndIsNamed() {
        val machine = RunMachine(config(limits = Limits(maxToolCalls = 2)), "thread")
        val first = begin(machine, "tea", "cake").effects
        machine.toolFinished(first[0].id, "ordered")
        val outputs = answer(machine, machine.toolFinished(first[1].id, "ordered"), asks("more"))
        val outcome = assertIs<Outcome.LimitReached>(machine.outcome())
        assertEquals<TurnLimit>(TurnLimit.MaxToolCalls(2), outcome.limit)
        assertEquals(ToolFailureKind.LIMIT_REACHED, assertIs<ToolResult.Failed>(updates(outputs, "more").last().result).kind)
    }

    @Test
    fun atALimitTheTurnMayFail() {
        val machine = RunMachine(config(limits = Limits(maxToolRounds = 0, atLimit = LimitPolicy.FAIL)), "thread")
        begin(machine, "tea")
        val failed = assertIs<Outcome.Failed>(machine.outcome())
        assertEquals<Failure>(Failure.LimitReached(TurnLimit.MaxToolRounds(0)), failed.failure)
    }

    @Test
    fun aModelThatMakesNoProgressIsToldAndThenStopped() {
        val machine = RunMachine(config(limits = Limits(repeats = RepeatLimit(tellAfter = 1, stopAfter = 2))), "thread")
        val running = begin(machine, "tea").effects.single()
        val told = answer(machine, machine.toolFinished(running.id, "ordered"), asks("tea").replace("\"id\":\"tea\"", "\"id\":\"again\""))
        assertEquals(ToolFailureKind.REPEATED, assertIs<ToolResult.Failed>(updates(told, "again").last().result).kind)
        answer(machine, told, asks("tea").replace("\"id\":\"tea\"", "\"id\":\"once more\""))
        assertEquals<TurnLimit>(TurnLimit.NoProgress("order", 3), assertIs<Outcome.LimitReached>(machine.outcome()).limit)
    }

    @Test
    fun whatIsTypedIsTakenInOrGivenBack() {
        val machine = RunMachine(config(), "thread")
        val running = begin(machine, "tea").effects.single()
        machine.steer("With milk", "m1")
        val outputs = machine.toolFinished(running.id, "ordered")
        assertContains(outputs.events, Event.SteeringTaken("m1", 1))
        machine.steer("Faster", "m2")
        val refused = machine.dispose().events.filterIsInstance<Event.SteeringRefused>().single()
        assertEquals(SteeringRefusal.DISPOSED, refused.reason)
        assertContains(refused.message.toString(), "Faster")
        assertTrue(machine.isDisposed())
        val misuse = assertFailsWith<StepwellException.Misuse> { machine.cancel() }
        assertContains(misuse.advice, "revive")
    }

    @Test
    fun aRequestWaitsForTheNetwork() {
        val device = DevicePolicy(offline = 1.minutes)
        val machine = RunMachine(config(device = device), "thread")
        val request = machine.start(Start("run", "Hi"), NOW).effects.single()
        machine.networkLost(NOW)
        val outputs = machine.connectionFailed(request.id, "no route to host", NOW)
        assertContains(outputs.events, Event.WaitingForNetwork(1.minutes))
        assertEquals<TimerKey?>(TimerKey.Network, machine.timeoutReason())
        assertNull(machine.enteredBackground(NOW).wakeAt)
        assertEquals(NOW.plusSeconds(61), machine.enteredForeground(NOW.plusSeconds(1)).wakeAt)
        answer(machine, machine.networkAvailable(NOW.plusSeconds(2)), says("Hello"), NOW.plusSeconds(2))
        assertEquals<Outcome?>(Outcome.Success, machine.outcome())
    }

    /** What is left out is the default, and `null` is none. */
    @Test
    fun absentIsTheDefaultAndNullIsNone() {
        fun wakes(timeouts: Timeouts) =
            RunMachine(config(timeouts = timeouts), "thread").start(Start("run", "Hi"), NOW).wakeAt
        assertEquals(NOW.plusSeconds(120), wakes(Timeouts()))
        assertNull(wakes(Timeouts(silence = null)))
        assertNull(wakes(Timeouts().copy(silence = null)))

        fun withoutNetwork(device: DevicePolicy): StateKind {
            val machine = RunMachine(config(device = device), "thread")
            val request = machine.start(Start("run", "Hi"), NOW).effects.single()
            machine.networkLost(NOW)
            machine.connectionFailed(request.id, "no route to host", NOW)
            return machine.state()
        }
        assertEquals(StateKind.WAITING, withoutNetwork(DevicePolicy()))
        assertEquals(StateKind.COMPLETED, withoutNetwork(DevicePolicy(offline = null)))

        fun afterSixOfTheSame(limits: Limits): StateKind {
            val machine = RunMachine(config(limits = limits), "thread")
            var outputs = machine.start(Start("run", "Hi"), NOW)
            repeat(6) {
                outputs = answer(machine, outputs, asks("tea"), NOW)
                for (effect in outputs.effects.filterIsInstance<Effect.RunTool>()) {
                    outputs = machine.toolFinished(effect.id, "ordered", NOW)
                }
            }
            return machine.state()
        }
        assertEquals(StateKind.COMPLETED, afterSixOfTheSame(Limits()))
        val endless = RepeatLimit(tellAfter = null, stopAfter = null)
        assertEquals(StateKind.OPENING, afterSixOfTheSame(Limits(repeats = endless)))
    }

    private companion object {
        val NOW: Instant = Instant.ofEpochSecond(1)
        const val END = "\n\ndata: [DONE]\n\n"
    }
}
