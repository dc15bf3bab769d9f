package dev.stepwell

import kotlin.reflect.KType
import kotlin.reflect.typeOf
import kotlin.time.Duration
import kotlinx.serialization.DeserializationStrategy
import kotlinx.serialization.SerializationStrategy
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.serializer

// Tools whose arguments are a `@Serializable` class, which is the schema; the code gets an object of it.

/**
 * Adds a tool that takes an object of a `@Serializable` class and returns anything that can be serialized, or media:
 *
 * ```
 * @Serializable
 * class Person(@Description("The first name.") val name: String)
 *
 * typedTool("get_secret_number", "The secret number of a person.") { person: Person -> numbers.getValue(person.name) }
 * ```
 *
 * Other settings of the tool are in [options].
 *
 * @throws IllegalArgumentException if the class has no schema; see [jsonSchema]
 */
public inline fun <reified A, reified R, D> AgentBuilder<D>.typedTool(
    name: String,
    description: String,
    json: Json = StepwellJson,
    noinline options: ToolBuilder<D>.() -> Unit = {},
    noinline code: suspend (A) -> R,
): Unit = tool(name, description) {
    options()
    runWith(serializer<A>(), resultSerializer<R>(typeOf<R>()), json, code)
}

/** Adds such a tool with code that reports its progress, shows partial results, or asks the user. */
public inline fun <reified A, reified R, D> AgentBuilder<D>.typedTool(
    name: String,
    description: String,
    json: Json = StepwellJson,
    noinline options: ToolBuilder<D>.() -> Unit = {},
    noinline code: suspend (A, ToolContext<D>) -> R,
): Unit = tool(name, description) {
    options()
    runWith(serializer<A>(), resultSerializer<R>(typeOf<R>()), json, code)
}

/** Sets the code as [ToolBuilder.runWith] does, with the serializers of the types. */
public inline fun <reified A, reified R> ToolBuilder<*>.runWith(
    json: Json = StepwellJson,
    noinline code: suspend (A) -> R,
): Unit = runWith(serializer<A>(), resultSerializer<R>(typeOf<R>()), json, code)

/**
 * The definition of a tool that takes an object of a `@Serializable` class, for [RunConfig.tools]. The app runs the
 * tool itself, with what [ToolInvocation.decode] returns.
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
 * @throws IllegalArgumentException if they do not fit the class
 */
public inline fun <reified A> ToolInvocation.decode(json: Json = StepwellJson): A = decode(serializer<A>(), json)

/** Decodes the arguments with a serializer. */
public fun <A> ToolInvocation.decode(serializer: DeserializationStrategy<A>, json: Json = StepwellJson): A =
    json.decodeFromJsonElement(serializer, arguments)

/** The default `Json` that reads arguments and writes results, including default values. */
public val StepwellJson: Json = Json { encodeDefaults = true }

internal fun <R> encoded(result: SerializationStrategy<R>, value: R, json: Json): Any? = when (value) {
    is String, is Unit, is ToolOutput, is ContentPart -> value
    else -> if ((value as? List<*>)?.firstOrNull() is ContentPart) value else json.encodeToString(result, value)
}

/** Writes a tool's result, except for media. */
@PublishedApi
@Suppress("UNCHECKED_CAST")
internal fun <R> resultSerializer(type: KType): SerializationStrategy<R> {
    val ofMedia = type == typeOf<ContentPart>() || type == typeOf<List<ContentPart>>() || type == typeOf<ToolOutput>()
    return (if (ofMedia) JsonElement.serializer() else serializer(type)) as SerializationStrategy<R>
}

/** Returns a result as the model is shown it. */
internal fun shown(value: Any?): String = if (value == Unit) "done" else value.toString()
