@file:OptIn(ExperimentalSerializationApi::class)

package dev.stepwell

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.SerialInfo
import kotlinx.serialization.descriptors.PolymorphicKind
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.SerialKind
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.descriptors.getContextualDescriptor
import kotlinx.serialization.descriptors.nonNullOriginal
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonClassDiscriminator
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** The description of a property, or a class, of a tool's arguments, for the model. */
@SerialInfo
@Target(AnnotationTarget.PROPERTY, AnnotationTarget.CLASS)
public annotation class Description(
    /** For the model, in a sentence. */
    val text: String,
)

/**
 * The JSON Schema of a `@Serializable` class, for a tool's arguments. Properties with a default may be left out, others
 * are required; [Description] describes them.
 *
 * @throws IllegalArgumentException if it is no class, or something in it has no schema
 */
public fun jsonSchema(descriptor: SerialDescriptor, json: Json = Json): JsonObject {
    val kind = descriptor.kind
    require(!descriptor.isNullable && (kind == StructureKind.CLASS || kind == StructureKind.OBJECT)) {
        "a tool's arguments are the properties of a class, and ${descriptor.serialName} is none: put it into one"
    }
    return schemaOf(descriptor, json)
}

/** The JSON Schema of any type that has one. */
internal fun schemaOf(descriptor: SerialDescriptor, json: Json): JsonObject = SchemaWriter(json).root(descriptor)

private class SchemaWriter(private val json: Json) {
    /** The classes around the current place. */
    private val around = mutableListOf<SerialDescriptor>()

    /** The recursive classes, by their names in `$ref`. */
    private val recursive = mutableMapOf<SerialDescriptor, String>()

    private val definitions = mutableMapOf<String, JsonElement>()

    fun root(descriptor: SerialDescriptor): JsonObject {
        val schema = value(descriptor)
        return if (definitions.isEmpty()) schema else JsonObject(schema + ("\$defs" to JsonObject(definitions)))
    }

    private fun value(descriptor: SerialDescriptor): JsonObject {
        val schema = notNull(descriptor.nonNullOriginal)
        return if (descriptor.isNullable) orNull(schema) else schema
    }

    private fun notNull(descriptor: SerialDescriptor): JsonObject = when {
        descriptor.isInline -> inline(descriptor)
        descriptor.serialName in ANYTHING -> JsonObject(emptyMap())
        else -> ofKind(descriptor)
    }

    private fun ofKind(descriptor: SerialDescriptor): JsonObject = when (descriptor.kind) {
        PrimitiveKind.BOOLEAN -> type("boolean")
        PrimitiveKind.BYTE, PrimitiveKind.SHORT, PrimitiveKind.INT, PrimitiveKind.LONG -> type("integer")
        PrimitiveKind.FLOAT, PrimitiveKind.DOUBLE -> type("number")
        PrimitiveKind.CHAR -> type("string", "minLength" to JsonPrimitive(1), "maxLength" to JsonPrimitive(1))
        PrimitiveKind.STRING -> type("string")
        SerialKind.ENUM -> type("string", "enum" to JsonArray(names(descriptor).map(::JsonPrimitive)))
        StructureKind.LIST -> type("array", "items" to value(descriptor.getElementDescriptor(0)))
        StructureKind.MAP -> type("object", "additionalProperties" to value(descriptor.getElementDescriptor(1)))
        StructureKind.CLASS, StructureKind.OBJECT -> once(descriptor) { structure(descriptor) }
        PolymorphicKind.SEALED -> once(descriptor) { sealed(descriptor) }
        SerialKind.CONTEXTUAL -> value(
            requireNotNull(json.serializersModule.getContextualDescriptor(descriptor)) {
                "${descriptor.serialName} is contextual, and the Json that was given has no serializer for it"
            },
        )
        PolymorphicKind.OPEN -> throw IllegalArgumentException(
            "${descriptor.serialName} may be of any class: make it sealed, so that the model can be told of all",
        )
    }

    /** A value class has the schema of its value; the schema marks unsigned numbers. */
    private fun inline(descriptor: SerialDescriptor): JsonObject {
        val held = value(descriptor.getElementDescriptor(0))
        return if (descriptor.serialName in UNSIGNED) JsonObject(held + ("minimum" to JsonPrimitive(0))) else held
    }

    /** Describes a class in place; within itself the class is referred to. */
    private fun once(descriptor: SerialDescriptor, describe: () -> JsonObject): JsonObject {
        if (descriptor in around) {
            val name = recursive.getOrPut(descriptor) { unused(descriptor.serialName.substringAfterLast('.')) }
            return JsonObject(mapOf("\$ref" to JsonPrimitive("#/\$defs/$name")))
        }
        around += descriptor
        val schema = describe()
        around.removeAt(around.lastIndex)
        recursive[descriptor]?.let { definitions[it] = schema }
        return schema
    }

    private fun unused(name: String): String =
        generateSequence(1) { it + 1 }.map { if (it == 1) name else "$name$it" }.first { it !in recursive.values }

    private fun structure(descriptor: SerialDescriptor, kind: Pair<String, String>? = null): JsonObject {
        val properties = mutableMapOf<String, JsonElement>()
        val required = mutableListOf<JsonElement>()
        kind?.let { (name, value) ->
            properties[name] = JsonObject(mapOf("const" to JsonPrimitive(value)))
            required += JsonPrimitive(name)
        }
        for (index in 0 until descriptor.elementsCount) {
            val name = descriptor.getElementName(index)
            val schema = value(descriptor.getElementDescriptor(index))
            properties[name] = described(schema, descriptor.getElementAnnotations(index))
            if (!descriptor.isElementOptional(index)) required += JsonPrimitive(name)
        }
        val parts = mutableListOf<Pair<String, JsonElement>>("properties" to JsonObject(properties))
        if (required.isNotEmpty()) parts += "required" to JsonArray(required)
        parts += "additionalProperties" to JsonPrimitive(false)
        return described(type("object", *parts.toTypedArray()), descriptor.annotations)
    }

    private fun sealed(descriptor: SerialDescriptor): JsonObject {
        val said = descriptor.annotations.filterIsInstance<JsonClassDiscriminator>().firstOrNull()
        val discriminator = said?.discriminator ?: json.configuration.classDiscriminator
        // A sealed class's descriptor has the discriminator, and then all the classes.
        val classes = descriptor.getElementDescriptor(1)
        val choices = (0 until classes.elementsCount).map { index ->
            structure(classes.getElementDescriptor(index), discriminator to classes.getElementName(index))
        }
        return described(JsonObject(mapOf("anyOf" to JsonArray(choices))), descriptor.annotations)
    }

    private fun described(schema: JsonObject, annotations: List<Annotation>): JsonObject {
        val description = annotations.filterIsInstance<Description>().firstOrNull() ?: return schema
        return JsonObject(schema + ("description" to JsonPrimitive(description.text)))
    }

    private fun orNull(schema: JsonObject): JsonObject {
        val type = schema["type"] as? JsonPrimitive
        return when {
            schema.isEmpty() -> schema
            type == null -> JsonObject(mapOf("anyOf" to JsonArray(listOf(schema, type("null")))))
            else -> {
                val choices = (schema["enum"] as? JsonArray)?.let { mapOf("enum" to JsonArray(it + JsonNull)) }
                val types = mapOf("type" to JsonArray(listOf(type, JsonPrimitive("null"))))
                JsonObject(schema + types + choices.orEmpty())
            }
        }
    }

    private fun names(descriptor: SerialDescriptor) = (0 until descriptor.elementsCount).map(descriptor::getElementName)

    private fun type(name: String, vararg more: Pair<String, JsonElement>) =
        JsonObject(mapOf("type" to JsonPrimitive(name), *more))

    private companion object {
        val ANYTHING = setOf("kotlinx.serialization.json.JsonElement", "kotlinx.serialization.json.JsonPrimitive")
        val UNSIGNED = setOf("kotlin.UByte", "kotlin.UShort", "kotlin.UInt", "kotlin.ULong")
    }
}
