package dev.stepwell

import dev.stepwell.internal.FfiAgent
import dev.stepwell.internal.Finished
import kotlinx.serialization.KSerializer
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.serializer

/** What kind of answer a turn is asked for. */
internal interface Answer<out T> {
    /** Runs a turn that asks for such an answer. */
    suspend fun <R> asked(agent: FfiAgent, turn: suspend (FfiAgent) -> R): R

    /** Reads the answer of a turn, of which [text] is the last message. */
    fun read(finished: Finished, text: String): T

    /** Returns the answer of one turn before anything of it has come. */
    fun growing(): Growing<T>

    /** The text of the last message. */
    object Text : Answer<String> {
        override suspend fun <R> asked(agent: FfiAgent, turn: suspend (FfiAgent) -> R): R = turn(agent)

        override fun read(finished: Finished, text: String): String = text

        override fun growing(): Growing<String> = GrowingText()
    }

    companion object {
        /** An answer of the type of a serializer; a string is the text. */
        fun <T> of(type: KSerializer<T>, json: Json): Answer<T> {
            @Suppress("UNCHECKED_CAST")
            if (type.descriptor.kind == PrimitiveKind.STRING && !type.descriptor.isNullable) return Text as Answer<T>
            return Typed(type, json)
        }
    }
}

private class Typed<T>(private val type: KSerializer<T>, private val json: Json) : Answer<T> {
    private val output = outputType(type.descriptor, json)

    override suspend fun <R> asked(agent: FfiAgent, turn: suspend (FfiAgent) -> R): R {
        val decoder = Decoding(AppCode()) { json.decodeFromJsonElement(type, it) }
        return agent.withOutput(output, decoder).use { turn(it) }
    }

    override fun read(finished: Finished, text: String): T =
        json.decodeFromJsonElement(type, finished.output ?: JsonNull)

    override fun growing(): Growing<T> = GrowingValue(type, json)
}

/**
 * The type of an answer, derived from a `@Serializable` type, for [RunConfig.output].
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
