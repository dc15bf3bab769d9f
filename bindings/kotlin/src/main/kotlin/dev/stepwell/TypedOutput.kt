package dev.stepwell

import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.withContext
import kotlinx.serialization.KSerializer
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.serializer

// Answers that are a `@Serializable` type: it is the schema, and the answer is an object of it.

/**
 * Says something to the model, and gives its answer as a value of a `@Serializable` type:
 *
 * ```
 * @Serializable
 * class Trip(val city: String, @Description("At least one.") val days: Int)
 *
 * val trip = agent.run<Trip>("Three days in Norway's rainiest city")
 * ```
 *
 * What does not fit the type goes back to the model with the path and the reason, twice; then the turn has failed.
 * Cancelling the caller cancels the turn. [parts] come behind the text, as for [send].
 *
 * @throws IllegalArgumentException the type has no schema; see [jsonSchema]. Nothing was sent
 * @throws TurnException the answer is not whole, or does not fit: [TurnException.OutputInvalid], with its text
 */
public suspend inline fun <reified T> Agent.run(
    text: String,
    vararg parts: ContentPart,
    json: Json = StepwellJson,
): T = run(text, serializer<T>(), *parts, json = json)

/** As the other one, with a serializer. */
@Throws(TurnException::class, CancellationException::class)
public suspend fun <T> Agent.run(
    text: String,
    serializer: KSerializer<T>,
    vararg parts: ContentPart,
    json: Json = StepwellJson,
): T {
    val decoder = Decoding(AppCode()) { json.decodeFromJsonElement(serializer, it) }
    val output = outputType(serializer.descriptor, json)
    return withOutput(output, decoder).use { agent ->
        json.decodeFromJsonElement(serializer, agent.sendAndWait(text, *parts).output ?: JsonNull)
    }
}

/**
 * The type of an answer, read off a `@Serializable` type, for [RunConfig.output] and [Agent.withOutput]: with other retries, say,
 * or for a turn whose events are wanted.
 *
 * @throws IllegalArgumentException if the type has no schema; see [jsonSchema]
 */
public inline fun <reified T> outputType(json: Json = StepwellJson): OutputType =
    outputType(serializer<T>().descriptor, json)

/** As the other one, with a descriptor. */
public fun outputType(descriptor: SerialDescriptor, json: Json = StepwellJson): OutputType =
    OutputType(name = nameOf(descriptor), schema = schemaOf(descriptor, json))

/** What the model is told that a type is called: letters, digits and `_`. */
private fun nameOf(descriptor: SerialDescriptor): String {
    val name = when (descriptor.kind) {
        StructureKind.LIST -> "List_of_" + nameOf(descriptor.getElementDescriptor(0))
        StructureKind.MAP -> "Map_of_" + nameOf(descriptor.getElementDescriptor(1))
        else -> descriptor.serialName.removeSuffix("?").substringAfterLast('.')
    }
    return name.replace(Regex("[^A-Za-z0-9_]+"), "_").take(LONGEST_NAME)
}

private const val LONGEST_NAME = 64

/** The app's code that decodes the typed answers: what it throws is why not. */
internal class Decoding(private val app: AppCode, private val code: suspend (JsonElement) -> Unit) : OutputDecoder {
    override suspend fun decode(value: JsonElement): String? =
        guarded {
            try {
                withContext(app.context) { code(value) }
                null
            } catch (cancelled: CancellationException) {
                throw cancelled
            } catch (refused: Exception) {
                refused.message ?: refused.toString()
            }
        }
}
