package dev.stepwell

import dev.stepwell.internal.AgentTool
import dev.stepwell.internal.FfiToolContext
import dev.stepwell.internal.ToolHandler
import java.util.function.Function
import kotlin.coroutines.cancellation.CancellationException
import kotlin.time.Duration
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.withContext
import kotlinx.serialization.DeserializationStrategy
import kotlinx.serialization.SerializationStrategy
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.boolean
import kotlinx.serialization.json.double
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.longOrNull

/**
 * Sets up a tool: its arguments, in the order of the calls here, and its code.
 *
 * @param D The type of the agent's value for its tools: [ToolContext.deps].
 */
@StepwellDsl
public class ToolBuilder<out D> internal constructor(
    private val name: String,
    private val description: String,
    private val app: AppCode,
) {
    /** Whether the user must allow each call. */
    public var requiresApproval: Boolean = false

    /**
     * Whether running the tool twice does no more than running it once. Only such a tool is run again after a crash.
     */
    public var idempotent: Boolean = false

    /** Whether asking again with the same arguments makes sense; a model that repeats another tool's call is warned. */
    public var repeatable: Boolean = false

    /** The longest that the tool may take; the turn's own limit if absent. */
    public var timeout: Duration? = null

    /** The JSON Schema of the arguments, if the calls below cannot describe them. */
    public var parameters: JsonObject? = null

    private val properties = mutableMapOf<String, JsonElement>()
    private val required = mutableListOf<JsonElement>()
    private var code: (suspend (ToolInvocation, FfiToolContext) -> Any?)? = null

    /** Takes a string. */
    public fun string(name: String, description: String = "", optional: Boolean = false): Unit =
        argument(name, "string", description, optional)

    /** Takes a whole number. */
    public fun integer(name: String, description: String = "", optional: Boolean = false): Unit =
        argument(name, "integer", description, optional)

    /** Takes a number. */
    public fun number(name: String, description: String = "", optional: Boolean = false): Unit =
        argument(name, "number", description, optional)

    /** Takes true or false. */
    public fun boolean(name: String, description: String = "", optional: Boolean = false): Unit =
        argument(name, "boolean", description, optional)

    /** Takes one of these strings. */
    public fun choice(name: String, values: List<String>, description: String = "", optional: Boolean = false) {
        val choices = JsonArray(values.map(::JsonPrimitive))
        argument(name, mapOf("type" to JsonPrimitive("string"), "enum" to choices), description, optional)
    }

    /** Takes any value that fits a JSON Schema. */
    public fun json(name: String, schema: JsonObject, description: String = "", optional: Boolean = false): Unit =
        argument(name, schema, description, optional)

    /**
     * Sets the tool's code. Its result is shown to the model: a string unchanged, a [JsonElement] as JSON, nothing
     * ([Unit]) as `done`, an [image] or a list of such parts as media, and with text before them as [ToolOutput],
     * anything else by its `toString`. An exception is this tool's own error: the model is shown the error, and the
     * turn continues. A tool whose result comes later throws [ToolException.Deferred]; [Turn.resolveCall] supplies the
     * result.
     */
    public fun run(code: suspend (ToolInvocation) -> Any?) {
        this.code = { invocation, _ -> code(invocation) }
    }

    /** Sets code that blocks its thread; for Java. It runs on a thread of `Dispatchers.IO`. */
    public fun runBlocking(code: Function<ToolInvocation, Any?>): Unit =
        run { call -> withContext(Dispatchers.IO) { code.apply(call) } }

    /** Sets code that takes the agent's [ToolContext.deps], reports its progress, shows partial results, or asks the user. */
    public fun run(code: suspend (ToolInvocation, ToolContext<D>) -> Any?) {
        this.code = { invocation, context ->
            @Suppress("UNCHECKED_CAST")
            code(invocation, ToolContext(context, currentCoroutineContext()[Deps]?.value as D))
        }
    }

    /**
     * Sets [parameters] and the tool's code by serializers: the arguments are an object, and so may the result be,
     * which is shown to the model as JSON, except for a string and media. Arguments that the class does not take are
     * the tool's own error, for the model to correct.
     *
     * @throws IllegalArgumentException if the arguments have no schema; see [jsonSchema]
     */
    public fun <A, R> runWith(
        arguments: DeserializationStrategy<A>,
        result: SerializationStrategy<R>,
        json: Json = StepwellJson,
        code: suspend (A) -> R,
    ): Unit = runWith(arguments, result, json) { given, _ -> code(given) }

    /** Sets such code that also reports its progress, shows partial results, or asks the user. */
    public fun <A, R> runWith(
        arguments: DeserializationStrategy<A>,
        result: SerializationStrategy<R>,
        json: Json = StepwellJson,
        code: suspend (A, ToolContext<D>) -> R,
    ) {
        parameters = jsonSchema(arguments.descriptor, json)
        run { invocation, context ->
            val given = try {
                invocation.decode(arguments, json)
            } catch (refused: IllegalArgumentException) {
                throw ToolException.Failed("the arguments cannot be taken: ${refused.message}")
            }
            encoded(result, code(given, context), json)
        }
    }

    private fun argument(name: String, type: String, description: String, optional: Boolean) =
        argument(name, mapOf("type" to JsonPrimitive(type)), description, optional)

    private fun argument(name: String, schema: Map<String, JsonElement>, description: String, optional: Boolean) {
        val said = if (description.isEmpty()) emptyMap() else mapOf("description" to JsonPrimitive(description))
        properties[name] = JsonObject(schema + said)
        if (!optional) required += JsonPrimitive(name)
    }

    internal fun build(): AgentTool {
        val code = requireNotNull(code) { "the tool `$name` has no code: give it a `run { … }`" }
        val schema = parameters ?: JsonObject(
            buildMap {
                put("type", JsonPrimitive("object"))
                put("properties", JsonObject(properties))
                if (required.isNotEmpty()) put("required", JsonArray(required))
                put("additionalProperties", JsonPrimitive(false))
            },
        )
        val definition = ToolDefinition(
            name = name,
            description = description,
            parameters = schema,
            requiresApproval = requiresApproval,
            idempotent = idempotent,
            repeatable = repeatable,
            timeout = timeout,
        )
        return AgentTool(definition, Code(name, app, code))
    }
}

/** A tool's code, with its exceptions as the tool's errors. */
private class Code(
    private val name: String,
    private val app: AppCode,
    private val code: suspend (ToolInvocation, FfiToolContext) -> Any?,
) : ToolHandler {
    override suspend fun call(invocation: ToolInvocation, context: FfiToolContext): ToolOutput =
        try {
            app.run { watched { outputOf(code(invocation, context)) } }
        } catch (stopped: CancellationException) {
            throw stopped
        } catch (declared: ToolException) {
            throw declared
        } catch (broken: Exception) {
            throw ToolException.Unexpected(AppCode.wordsOf(broken.cause as? Error ?: broken))
        }

    /** Ends the turn with what the code throws, if the agent wants that. Outside of the context it may be a copy. */
    private suspend fun <T> watched(code: suspend () -> T): T =
        try {
            code()
        } catch (thrown: Throwable) {
            val isOwn = thrown is CancellationException || thrown is ToolException
            if (!isOwn && app.onToolError == OnToolError.FAIL) currentCoroutineContext()[TurnFault]?.tool(name, thrown)
            throw thrown
        }
}

/** An argument that is a string. */
public fun ToolInvocation.string(name: String): String = argument(name).content

/** An argument that is a whole number. */
public fun ToolInvocation.integer(name: String): Long = argument(name).run { longOrNull ?: double.toLong() }

/** An argument that is a number. */
public fun ToolInvocation.number(name: String): Double = argument(name).double

/** An argument that is true or false. */
public fun ToolInvocation.boolean(name: String): Boolean = argument(name).boolean

private fun ToolInvocation.argument(name: String): JsonPrimitive =
    requireNotNull((arguments as? JsonObject)?.get(name)) { "there is no argument `$name`" }.jsonPrimitive
