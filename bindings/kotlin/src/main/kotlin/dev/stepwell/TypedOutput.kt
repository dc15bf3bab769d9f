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

// Answers of a `@Serializable` type, which is the schema; the answer is an object of it.

/**
 * Sends a message to the model, and returns its answer as a value of a `@Serializable` type:
 *
 * ```
 * @Serializable
 * class Trip(val city: String, @Description("At least one.") val days: Int)
 *
 * val trip = agent.run<Trip>("Three days in Norway's rainiest city")
 * ```
 *
 * An answer that does not fit the type goes back to the model with the path and the reason, twice; then the turn fails.
 * Cancelling the caller cancels the turn. [parts] follow the text, as for [send].
 *
 * @throws IllegalArgumentException if the type has no schema; see [jsonSchema]. Nothing was sent
 * @throws TurnException if the answer is incomplete, or does not fit: [TurnException.OutputInvalid], with its text
 */
public suspend inline fun <reified T> Agent.run(
    text: String,
    vararg parts: ContentPart,
    json: Json = StepwellJson,
): T = run(text, serializer<T>(), *parts, json = json)

/** Runs the turn as the other overload does, with a serializer. */
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
 * The type of an answer, derived from a `@Serializable` type, for [RunConfig.output] and [Agent.withOutput]: with other
 * retries, say, or for a turn whose events are wanted.
 *
 * @throws IllegalArgumentException if the type has no schema; see [jsonSchema]
 */
public inline fun <reified T> outputType(json: Json = StepwellJson): OutputType =
    outputType(serializer<T>().descriptor, json)

/** Derives the type from a descriptor. */
public fun outputType(descriptor: SerialDescriptor, json: Json = StepwellJson): OutputType =
    OutputType(name = nameOf(descriptor), schema = schemaOf(descriptor, json))

/** The name of a type for the model: letters, digits and `_`. */
private fun nameOf(descriptor: SerialDescriptor): String {
    val name = when (descriptor.kind) {
        StructureKind.LIST -> "List_of_" + nameOf(descriptor.getElementDescriptor(0))
        StructureKind.MAP -> "Map_of_" + nameOf(descriptor.getElementDescriptor(1))
        else -> descriptor.serialName.removeSuffix("?").substringAfterLast('.')
    }
    return name.replace(Regex("[^A-Za-z0-9_]+"), "_").take(LONGEST_NAME)
}

private const val LONGEST_NAME = 64

/** The app's code that decodes the typed answers: its exception is the reason of a refusal. */
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
