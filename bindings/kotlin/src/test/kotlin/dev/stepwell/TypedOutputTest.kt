package dev.stepwell

import java.io.ByteArrayOutputStream
import java.io.PrintStream
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.junit.jupiter.api.Test

@Serializable
@SerialName("Journey")
data class Journey(val city: String, @Description("At least one.") val days: Int) {
    init {
        require(days > 0) { "$days days are no journey" }
    }
}

@Serializable
data class Packed(val days: Int, val souvenirs: List<String> = emptyList(), val city: String? = null)

/** Answers that are a `@Serializable` type. */
class TypedOutputTest {
    private val bergen = """{\"city\":\"Bergen\",\"days\":3}"""

    private fun says(text: String) = MockLlm.text(text)

    private fun agent(mock: MockLlm) = Agent(mock.model)

    @Test
    fun theAnswerIsAnObjectOfTheClass() = runBlocking {
        MockLlm(says(bergen), says("[$bergen]"), says("7"), says("A text.")).use { mock ->
            val agent = agent(mock)
            val result: TurnResult<Journey> = agent.run<Journey>("Where to?")
            assertEquals(Journey("Bergen", 3), result.output)
            assertEquals(listOf(Journey("Bergen", 3)), agent.run<List<Journey>>("Others?").output)
            assertEquals(7, agent.conversation().send<Int>("How many?").output)
            assertEquals("A text.", agent.run<String>("Why?").output)
            val request = mock.requests().first().toString()
            assertContains(request, "Journey")
            assertContains(request, "At least one.")
        }
    }

    @Test
    fun whatDoesNotFitGoesBackToTheModel() = runBlocking {
        val misfits = listOf("""{\"city\":\"Bergen\"}""", """{\"city\":\"Bergen\",\"days\":0}""")
        MockLlm(says(misfits[0]), says(misfits[1]), says(bergen)).use { mock ->
            assertEquals(3, agent(mock).run<Journey>("Where to?").output.days)
            val requests = mock.requests().map { it.toString() }
            assertContains(requests[2], "0 days are no journey")
        }
    }

    @Test
    fun whatNeverFitsIsAnErrorWithTheText() = runBlocking {
        MockLlm(says("Bergen"), says("Bergen!"), says("I said: Bergen")).use { mock ->
            val failed = assertFailsWith<StepwellException.OutputInvalid> {
                agent(mock).run<Journey>("Where to?")
            }
            assertEquals("I said: Bergen", failed.result?.text)
            assertTrue(failed.result?.fullText.orEmpty().endsWith("I said: Bergen"))
        }
    }

    @Test
    fun theAnswerIsSeenWhileItStreams() = runBlocking {
        MockLlm("""{"steps":[{"text":"${bergen.take(14)}"},{"text":"${bergen.drop(14)}"}]}""").use { mock ->
            val partial = PartialValue()
            val turn: Turn<Journey> = agent(mock).stream<Journey>("Where to?")
            turn.updates.collect { if (it is Update.Output) partial.apply(it.changes) }
            assertEquals("Bergen", turn.result().output.city)
            assertEquals(Json.parseToJsonElement("""{"city":"Bergen","days":3}"""), partial.value())
        }
    }

    @Test
    fun whatThereIsOfItIsOfItsTypeWhileItStreams() = runBlocking {
        val steps = listOf("""{\"days\":3,\"so""", """uvenirs\":[\"a c""", """up\"],\"city\":\"Ber""", """gen\"}""")
        val hop = """{"steps":[${steps.joinToString { """{"text":"$it"}""" }}]}"""
        MockLlm(hop, hop, MockLlm.text("Hi")).use { mock ->
            val turn = agent(mock).stream<Packed>("What to take?")
            val partials: List<Packed> = turn.partials.toList()
            assertEquals(Packed(3, listOf("a cup"), "Bergen"), partials.last())
            // How much comes at once is the network's.
            for (partial in partials) {
                assertEquals(3, partial.days)
                assertTrue("a cup".startsWith(partial.souvenirs.joinToString()), "$partial")
                assertTrue("Bergen".startsWith(partial.city.orEmpty()), "$partial")
            }
            val again = agent(mock).stream<Packed>("What to take?")
            again.updates.collect { if (it is Update.Output) assertEquals(3, again.partialOutput?.days) }
            assertEquals(Packed(3, listOf("a cup"), "Bergen"), again.partialOutput)
            assertEquals("Hi", agent(mock).stream("Hi").partials.toList().last())
        }
    }

    @Test
    fun aPropertyThatNeedsAValueIsWaitedFor() {
        val growing = GrowingValue(Journey.serializer(), StepwellJson)
        fun grow(vararg changes: ArgumentsChange) = growing.take(Event.PartialOutput(1, changes.asList(), null))
        assertNull(growing.value())
        grow(ArgumentsChange.Add("", JsonObject(emptyMap())), ArgumentsChange.Add("/city", JsonPrimitive("")))
        grow(ArgumentsChange.Append("/city", "Ber"))
        assertNull(growing.value())
        grow(ArgumentsChange.Add("/days", JsonPrimitive(0)))
        assertNull(growing.value())
        grow(ArgumentsChange.Add("", JsonObject(mapOf("days" to JsonPrimitive(3), "city" to JsonPrimitive("Ber")))))
        assertEquals(Journey("Ber", 3), growing.value())
    }

    @Test
    fun aTypeWithoutASchemaIsToldAtOnce() = runBlocking<Unit> {
        MockLlm(says("never")).use { mock ->
            assertFailsWith<IllegalArgumentException> { agent(mock).run<Open>("Where to?") }
            assertEquals(0, mock.requests().size)
        }
    }

    @Test
    fun theFirstProgramPrintsTheAnswer() {
        MockLlm(says(bergen)).use { mock ->
            val (printed, console) = ByteArrayOutputStream() to System.out
            System.setOut(PrintStream(printed))
            try {
                trip.main(arrayOf(mock.baseUrl))
            } finally {
                System.setOut(console)
            }
            assertEquals("3 days in Bergen\n", printed.toString())
        }
    }
}
