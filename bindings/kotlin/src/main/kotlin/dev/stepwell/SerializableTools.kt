package dev.stepwell

import kotlin.reflect.KType
import kotlin.reflect.typeOf
import kotlin.time.Duration
import kotlinx.serialization.DeserializationStrategy
import kotlinx.serialization.SerializationStrategy
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.serializer

// Tools whose arguments are a `@Serializable` class: it is the schema, and the code gets an object of it.

/**
 * Adds a tool that takes an object of a `@Serializable` class and gives anything that can be serialized, or media:
 *
 * ```
 * @Serializable
 * class Person(@Description("The first name.") val name: String)
 *
 * typedTool("get_secret_number", "The secret number of a person.") { person: Person -> numbers.getValue(person.name) }
 * ```
 *
 * What else there is to say about it, [options] says.
 *
 * @throws IllegalArgumentException if the class has no schema; see [jsonSchema]
 */
public inline fun <reified A, reified R> AgentBuilder.typedTool(
    name: String,
    description: String,
    json: Json = StepwellJson,
    noinline options: ToolBuilder.() -> Unit = {},
    noinline code: suspend (A) -> R,
): Unit = tool(name, description) {
    options()
    runWith(serializer<A>(), resultSerializer<R>(typeOf<R>()), json, code)
}

/** The same for code that says how far it is, shows what it has so far, or asks the user. */
public inline fun <reified A, reified R> AgentBuilder.typedTool(
    name: String,
    description: String,
    json: Json = StepwellJson,
    noinline options: ToolBuilder.() -> Unit = {},
    noinline code: suspend (A, ToolContext) -> R,
): Unit = tool(name, description) {
    options()
    runWith(serializer<A>(), resultSerializer<R>(typeOf<R>()), json, code)
}

/** As [ToolBuilder.runWith], with the serializers of the types. */
public inline fun <reified A, reified R> ToolBuilder.runWith(
    json: Json = StepwellJson,
    noinline code: suspend (A) -> R,
): Unit = runWith(serializer<A>(), resultSerializer<R>(typeOf<R>()), json, code)

/**
 * How the model sees a tool that takes an object of a `@Serializable` class, for [RunConfig.tools]. The app runs the tool
 * itself, with what [ToolInvocation.decode] gives.
 *
 * @throws IllegalArgumentException if the class has no schema; see [jsonSchema]
 */
public inline fun <reified A> toolDefinition(
    name: String,
    description: String,
    requiresApproval: Boolean = false,
    idempotent: Boolean = false,
    repeatable: Boolean = false,
    timeout: Duration? = null,
    json: Json = StepwellJson,
): ToolDefinition = ToolDefinition(
    name = name,
    description = description,
    parameters = jsonSchema(serializer<A>().descriptor, json),
    requiresApproval = requiresApproval,
    idempotent = idempotent,
    repeatable = repeatable,
    timeout = timeout,
)

/**
 * The arguments as an object of a `@Serializable` class.
 *
 * @throws IllegalArgumentException if they are none
 */
public inline fun <reified A> ToolInvocation.decode(json: Json = StepwellJson): A = decode(serializer<A>(), json)

/** As the other one, with a serializer. */
public fun <A> ToolInvocation.decode(serializer: DeserializationStrategy<A>, json: Json = StepwellJson): A =
    json.decodeFromJsonElement(serializer, arguments)

/** How arguments are read and results written where no other `Json` is given: with the values that are as by default. */
public val StepwellJson: Json = Json { encodeDefaults = true }

internal fun <R> encoded(result: SerializationStrategy<R>, value: R, json: Json): Any? = when (value) {
    is String, is Unit, is ToolOutput, is ContentPart -> value
    else -> if ((value as? List<*>)?.firstOrNull() is ContentPart) value else json.encodeToString(result, value)
}

/** How a tool's result is written: media are not. */
@PublishedApi
@Suppress("UNCHECKED_CAST")
internal fun <R> resultSerializer(type: KType): SerializationStrategy<R> {
    val ofMedia = type == typeOf<ContentPart>() || type == typeOf<List<ContentPart>>() || type == typeOf<ToolOutput>()
    return (if (ofMedia) JsonElement.serializer() else serializer(type)) as SerializationStrategy<R>
}

/** A result as the model is shown it. */
internal fun shown(value: Any?): String = if (value == Unit) "done" else value.toString()
