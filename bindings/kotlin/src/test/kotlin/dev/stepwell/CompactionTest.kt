package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test

/** Agents that compact long conversations before a request. */
class CompactionTest {
    /** What nearly fills the context of the agents. */
    private val history = Transcript(List(3) { UserMessage("x".repeat(2_000), "old-$it") })

    private fun agentOf(mock: MockLlm, also: AgentBuilder<Unit>.() -> Unit) = Agent(mock.model) {
        contextGuard { window = 1_600 }
        also()
    }

    private fun sent(mock: MockLlm) = mock.requests().map { it.getValue("body").toString() }

    @Test
    fun aCheapModelSummarisesAndTheNextTurnBeginsFromThere() = runBlocking {
        val many = """{"steps":[{"text":"There were many x."}],"usage":{"input":500,"output":10}}"""
        MockLlm(MockLlm.text("Yes."), MockLlm.text("Still yes."), MockLlm.text("All of it.")).use { mock ->
            MockLlm(many, MockLlm.text("All x.")).use { writer ->
                val agent = agentOf(mock) { summaryModel(Model.openaiCompatible("cheap", writer.baseUrl)) }
                val conversation = agent.conversation(history = history)
                val turn = conversation.stream("And?")
                val trimmed = turn.updates.filterIsInstance<Update.ContextTrimmed>().toList().single()
                assertEquals("There were many x.", trimmed.compaction.summary)
                val result = turn.result()
                assertEquals("Yes.", result.text)
                // What the summary has cost is the turn's.
                assertTrue((result.usage.inputTokens ?: 0) >= 500)
                assertContains(sent(writer).single(), "\"cheap\"")

                assertEquals("Still yes.", conversation.send("Sure?").text)
                assertEquals(1, writer.requests().size)
                for (request in sent(mock)) assertContains(request, "There were many x.")
                assertEquals("All of it.", conversation.send("Sure?") { wholeHistory = true }.text)
                assertContains(sent(mock).last(), "All x.")
            }
        }
    }

    @Test
    fun anAgentWritesItsOwnSummariesAsItIsTold() = runBlocking {
        MockLlm(MockLlm.text("Many x."), MockLlm.text("Yes.")).use { mock ->
            val agent = agentOf(mock) {
                compaction {
                    at = 0.5
                    ways = listOf(CompactionWay.DropResults(2), CompactionWay.Summary(instructions = "Count the x.", keep = 0.1))
                }
            }
            assertEquals("Yes.", agent.conversation(history = history).send("And?").text)
            assertContains(sent(mock).first(), "Count the x.")
            assertContains(sent(mock).last(), "Many x.")
        }
    }

    @Test
    fun theAppCompacts() = runBlocking {
        MockLlm(MockLlm.text("Yes."), MockLlm.text("Still yes.")).use { mock ->
            val agent = agentOf(mock) {
                compaction { ways = listOf(CompactionWay.Host) }
                trimContext { overflow, messages -> Trimmed(overflow.newest(0.2), "${messages.size} messages of many x.") }
            }
            val conversation = agent.conversation(history = history)
            conversation.send("And?")
            conversation.send("Sure?")
            for (request in sent(mock)) assertContains(request, "4 messages of many x.")
        }
    }

    @Test
    fun javaCompactsToo() = MockLlm(MockLlm.text("Many x."), MockLlm.text("Yes.")).use { mock ->
        val agent = JavaCaller.compacting(mock.model)
        assertEquals("Yes.", agent.blocking().conversation("java", history).send("And?").text)
        assertContains(sent(mock).last(), "Many x.")
    }

    @Test
    fun whatCannotCompactIsRefused() = runBlocking<Unit> {
        val host = Agent("ollama:m") { compaction { ways = listOf(CompactionWay.Host) } }
        assertFailsWith<StepwellException.Misuse> { host.run("Hello") }
        val agUi = Agent("ollama:m") { summaryModel(Model.agUi("http://localhost/agent")) }
        assertFailsWith<StepwellException.Misuse> { agUi.run("Hello") }
    }
}
