package dev.stepwell

import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Contextual
import kotlinx.serialization.Polymorphic
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.serializer
import org.junit.jupiter.api.Test

@Serializable
enum class Size {
    SMALL,

    @SerialName("large")
    LARGE,
}

@Serializable
@JvmInline
value class Cents(val amount: UInt)

@Serializable
sealed interface Delivery {
    @Serializable
    @SerialName("pickup")
    data object Pickup : Delivery

    @Serializable
    @SerialName("address")
    data class Address(val street: String, val floor: Int? = null) : Delivery
}

@Serializable
@Description("What to order.")
data class Order(
    @Description("The dish, as on the menu.") val dish: String,
    val size: Size,
    val price: Cents,
    val extras: List<String> = emptyList(),
    val note: String?,
    val delivery: Delivery = Delivery.Pickup,
    val tags: Map<String, Boolean> = emptyMap(),
    val weight: Double = 1.0,
    val anything: JsonElement? = null,
) {
    init {
        require(dish != "stones") { "stones cannot be eaten" }
    }
}

@Serializable
data class Tree(val name: String, val children: List<Tree> = emptyList())

@Serializable
data class Receipt(val number: Int, val paid: Boolean = false)

@Serializable
class Odd(@Contextual val what: Any)

@Serializable
class Open(@Polymorphic val what: Any)

/** Tools whose arguments and results are `@Serializable` classes. */
class SerializableToolsTest {
    private inline fun <reified T> schema() = jsonSchema(serializer<T>().descriptor)

    private fun json(text: String) = Json.parseToJsonElement(text)

    @Test
    fun aClassIsItsSchema() {
        val expected = """{"type":"object","description":"What to order.","properties":{
            "dish":{"type":"string","description":"The dish, as on the menu."},
            "size":{"type":"string","enum":["SMALL","large"]},
            "price":{"type":"integer","minimum":0},
            "extras":{"type":"array","items":{"type":"string"}},
            "note":{"type":["string","null"]},
            "delivery":{"anyOf":[
                {"type":"object","properties":{"type":{"const":"address"},"street":{"type":"string"},
                    "floor":{"type":["integer","null"]}},"required":["type","street"],"additionalProperties":false},
                {"type":"object","properties":{"type":{"const":"pickup"}},"required":["type"],"additionalProperties":false}]},
            "tags":{"type":"object","additionalProperties":{"type":"boolean"}},
            "weight":{"type":"number"},
            "anything":{}
            },"required":["dish","size","price","note"],"additionalProperties":false}"""
        assertEquals(json(expected), schema<Order>())
    }

    @Test
    fun aClassWithinItselfIsReferredTo() {
        val node = """"type":"object","properties":{"name":{"type":"string"},
            "children":{"type":"array","items":{"${'$'}ref":"#/${'$'}defs/Tree"}}},
            "required":["name"],"additionalProperties":false"""
        assertEquals(json("""{$node,"${'$'}defs":{"Tree":{$node}}}"""), schema<Tree>())
        // The library takes it, and what fits it.
        val config = RunConfig(
            "openai-compatible",
            "mock",
            baseUrl = "http://localhost/v1",
            tools = listOf(toolDefinition<Tree>("plant", "Plants.")),
        )
        RunMachine(config, "thread").close()
    }

    @Test
    fun whatHasNoSchemaIsSaidAtOnce() {
        for (descriptor in listOf(serializer<List<String>>(), serializer<Delivery>(), serializer<Size>(), serializer<String?>())) {
            val error = assertFailsWith<IllegalArgumentException> { jsonSchema(descriptor.descriptor) }
            assertContains("${error.message}", "put it into one")
        }
        assertContains("${assertFailsWith<IllegalArgumentException> { schema<Odd>() }.message}", "contextual")
        assertContains("${assertFailsWith<IllegalArgumentException> { schema<Open>() }.message}", "make it sealed")
    }

    private val good =
        """{"dish":"soup","size":"large","price":450,"note":null,"delivery":{"type":"address","street":"Elm St"}}"""

    private fun turn(arguments: String, build: AgentBuilder<Unit>.() -> Unit): ToolResult = runBlocking {
        MockLlm(MockLlm.call("order", arguments), MockLlm.text("Done")).use { mock ->
            val events = Agent(mock.model, build).stream("Order").events.toList()
            assertEquals<Event>(Event.Completed(Outcome.Success), events.last())
            events.filterIsInstance<Event.ToolCallUpdate>().mapNotNull { it.result }.single()
        }
    }

    @Test
    fun objectsGoInAndOut() {
        val result = turn(good) {
            typedTool("order", "Orders.") { order: Order ->
                assertEquals(Order("soup", Size.LARGE, Cents(450u), note = null, delivery = Delivery.Address("Elm St")), order)
                Receipt(7)
            }
        }
        assertEquals<ToolResult>(ToolResult.Finished("""{"number":7,"paid":false}""", null), result)
    }

    @Test
    fun aTextIsShownAsItIsAndNothingAsDone() {
        assertEquals<ToolResult>(ToolResult.Finished("on its way", null), turn(good) { typedTool("order", "Orders.") { _: Order -> "on its way" } })
        assertEquals<ToolResult>(ToolResult.Finished("done", null), turn(good) { typedTool("order", "Orders.") { _: Order -> } })
        assertEquals<ToolResult>(ToolResult.Finished("null", null), turn(good) { typedTool("order", "Orders.") { _: Order -> null as Receipt? } })
        assertEquals<ToolResult>(ToolResult.Finished("done", null), turn("{}") { tool("order", "Orders.") { run { } } })
    }

    @Test
    fun optionsOfATypedTool() {
        val result = turn(good) {
            typedTool("order", "Orders.", options = { requiresApproval = true }) { _: Order -> "on its way" }
            approver { Decision.Denied("too dear") }
        }
        assertEquals(ToolFailureKind.DENIED, assertIs<ToolResult.Failed>(result).kind)
    }

    @Test
    fun argumentsThatDoNotFitAreForTheModelToMend() {
        // The schema finds the one, the class itself the other.
        val cases = mapOf(
            good.replace("\"large\"", "\"huge\"") to (ToolFailureKind.REJECTED to "huge"),
            good.replace("soup", "stones") to (ToolFailureKind.ERROR to "stones cannot be eaten"),
        )
        for ((arguments, expected) in cases) {
            val failed = assertIs<ToolResult.Failed>(turn(arguments) { typedTool("order", "Orders.") { _: Order -> "?" } })
            assertEquals(expected.first, failed.kind)
            assertContains(failed.message, expected.second)
        }
    }
}
