package dev.stepwell

import com.sun.jna.Library
import com.sun.jna.Native
import com.sun.jna.Structure
import java.io.File
import java.lang.ref.WeakReference
import java.time.Instant
import java.util.concurrent.atomic.AtomicInteger
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable
import org.junit.jupiter.api.condition.EnabledOnOs
import org.junit.jupiter.api.condition.OS

/** Many turns, one after the other and at once: nothing is left of them, and none meets another. */
class ManyTurnsTest {
    private companion object {
        const val ROUNDS = 5

        /** What sets it measures memory: the JVM's compiler takes more at times than a few turns would. */
        const val THOROUGH = "STEPWELL_THOROUGH"

        /** The turns of a round. */
        const val TURNS = 1_000

        /** What a round may leave in native memory, in bytes; turns that are kept take far more. */
        const val BOUND = TURNS * 8L * 1024

        const val QUESTION = "What are Alice's and Bob's secret numbers?"
    }

    /** The memory that the process has taken with `malloc` and not given back; the heap of the JVM is elsewhere. */
    private object Malloc {
        @Structure.FieldOrder("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
        open class Info : Structure() {
            @JvmField var arena = 0L

            @JvmField var ordblks = 0L

            @JvmField var smblks = 0L

            @JvmField var hblks = 0L

            @JvmField var hblkhd = 0L

            @JvmField var usmblks = 0L

            @JvmField var fsmblks = 0L

            @JvmField var uordblks = 0L

            @JvmField var fordblks = 0L

            @JvmField var keepcost = 0L

            class ByValue : Info(), Structure.ByValue
        }

        private interface C : Library {
            fun mallinfo2(): Info.ByValue
        }

        private val c = Native.load("c", C::class.java)

        fun used(): Long {
            System.gc()
            return c.mallinfo2().run { uordblks + hblkhd }
        }
    }

    private fun resident(): Long {
        val line = File("/proc/self/status").readLines().first { it.startsWith("VmRSS:") }
        return line.filter { it.isDigit() }.toLong() / 1024
    }

    /**
     * What nearly every round leaves: the last but one of them. The JVM's compiler takes memory and gives it back at times
     * of its own, but what is never given back is there after each round.
     */
    private fun left(what: String, round: () -> Unit): Long {
        round()
        val grown = List(ROUNDS) {
            val before = Malloc.used()
            round()
            Malloc.used() - before
        }
        println("$TURNS $what a round: ${grown.map { it / 1024 }} KiB of native memory more after each round, ${resident()} MiB resident")
        return grown.sorted()[1]
    }

    private fun secretNumbers(mock: MockLlm) = Agent(mock.model) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> if (call.string("name") == "alice") 42 else 7 }
        }
    }

    /** Each of some conversations takes turns, and is let go of. */
    private fun agentTurns(agent: Agent, conversations: Int, turns: Int) = runBlocking(Dispatchers.Default) {
        List(conversations) {
            async {
                agent.conversation().use { conversation ->
                    repeat(turns) {
                        val events = conversation.stream(QUESTION).events.toList()
                        assertEquals<Event>(Event.Completed(Outcome.Success), events.last())
                    }
                }
            }
        }.awaitAll()
    }

    @Test
    @EnabledOnOs(OS.LINUX, disabledReason = "the native memory is asked of glibc")
    @EnabledIfEnvironmentVariable(named = THOROUGH, matches = ".+", disabledReason = "`cargo xtask prove languages` measures memory")
    fun manyTurnsOfAgentsLeaveNothing() = MockLlm().use { mock ->
        val agent = secretNumbers(mock)
        assertTrue(left("turns of conversations") { agentTurns(agent, TURNS / 5, 5) } < BOUND)
        assertTrue(left("runs") { runBlocking(Dispatchers.Default) { List(TURNS) { async { agent.run(QUESTION) } }.awaitAll() } } < BOUND)
    }

    private val tool = ToolDefinition(
        "add",
        "Adds.",
        Json.parseToJsonElement("""{"type":"object","properties":{"n":{"type":"integer"}}}"""),
    )

    private val config = RunConfig("openai-compatible", "mock", baseUrl = "http://localhost/v1", tools = listOf(tool))

    private fun frame(delta: String, finish: String) =
        """data: {"choices":[{"index":0,"delta":$delta,"finish_reason":"$finish"}]}""" + "\n\ndata: [DONE]\n\n"

    private val call = """{"tool_calls":[{"index":0,"id":"c","function":{"name":"add","arguments":"{\"n\":1}"}}]}"""
    private val asks = frame(call, "tool_calls").toByteArray()
    private val says = frame("""{"content":"It is 2."}""", "stop").toByteArray()

    /** A turn of two hops with the network left out. */
    private fun machineTurn(index: Int): RunMachine {
        val machine = RunMachine(config, "thread-$index")
        fun answer(outputs: Outputs, body: ByteArray): Outputs {
            val request = assertIs<Effect.OpenStream>(outputs.effects.single())
            machine.opened(request.id, "text/event-stream", Instant.EPOCH)
            machine.receive(request.id, body, now = Instant.EPOCH)
            return machine.ended(request.id, Instant.EPOCH)
        }
        val running = answer(machine.start(Start("run-$index", "Add"), Instant.EPOCH), asks).effects.single()
        answer(machine.toolFinished(running.id, "2", Instant.EPOCH), says)
        assertEquals("It is 2." to Outcome.Success, machine.text() to machine.outcome())
        return machine
    }

    @Test
    @EnabledOnOs(OS.LINUX, disabledReason = "the native memory is asked of glibc")
    @EnabledIfEnvironmentVariable(named = THOROUGH, matches = ".+", disabledReason = "`cargo xtask prove languages` measures memory")
    fun manyTurnsOfMachinesLeaveNothing() =
        assertTrue(left("turns of run machines") { repeat(TURNS) { machineTurn(it).close() } } < BOUND)

    @Test
    @EnabledOnOs(OS.LINUX, disabledReason = "the native memory is asked of glibc")
    @EnabledIfEnvironmentVariable(named = THOROUGH, matches = ".+", disabledReason = "`cargo xtask prove languages` measures memory")
    fun theMeasureSeesTurnsThatAreKept() {
        val kept = mutableListOf<RunMachine>()
        val left = left("run machines that are kept") { repeat(TURNS) { kept += machineTurn(it) } }
        kept.forEach { it.close() }
        assertTrue(left > BOUND, "$left bytes")
    }

    @Test
    fun fiftyTurnsAtOnce() = MockLlm(*Array(50) { MockLlm.call("meet", "{}") }, *Array(50) { MockLlm.text("Met") }).use { mock ->
        val there = AtomicInteger()
        val all = CompletableDeferred<Unit>()
        runBlocking(Dispatchers.Default) {
            val turns = List(50) { index ->
                async {
                    val meeting = Agent(mock.model) {
                        tool("meet", "Waits for the others.") {
                            run {
                                // No tool ends before all fifty have begun, so no turn has either.
                                if (there.incrementAndGet() == 50) all.complete(Unit)
                                all.await()
                                "turn $index"
                            }
                        }
                    }
                    meeting.stream("Meet").events.toList()
                }
            }
            turns.awaitAll().forEachIndexed { index, events ->
                val result = events.filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }.single()
                assertEquals<ToolResult>(ToolResult.Finished("turn $index", null), result)
                assertEquals<Event>(Event.Completed(Outcome.Success), events.last())
            }
        }
        assertEquals(0, mock.failures().size)
    }

    private class Code : (ToolInvocation) -> String {
        override fun invoke(call: ToolInvocation) = "42"
    }

    private fun agentLetGoOf(mock: MockLlm): WeakReference<Code> {
        val code = Code()
        val agent = Agent(mock.model) {
            tool("get_secret_number", "The secret number of a person.") {
                string("name")
                run { call -> code(call) }
            }
        }
        runBlocking { agent.run(QUESTION) }
        return WeakReference(code)
    }

    @Test
    fun anAgentThatIsLetGoOfLetsGoOfItsTools() = MockLlm().use { mock ->
        val code = agentLetGoOf(mock)
        // What a collection finds is released on another thread, and with it what it held.
        val released = (1..500).any {
            System.gc()
            code.get() == null
        }
        assertTrue(released, "the library still holds the tool")
    }
}
