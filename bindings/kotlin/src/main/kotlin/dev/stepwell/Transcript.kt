package dev.stepwell

import java.util.UUID
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject

/**
 * A conversation: its messages, oldest first.
 *
 * @property json The messages in AG-UI's form, for the app to store.
 */
public class Transcript(public val json: JsonArray) : AbstractList<Message>() {
    /** A conversation of these messages. */
    public constructor(messages: List<Message>) : this(JsonArray(messages.map { it.json }))

    /** A conversation of these messages. */
    public constructor(vararg messages: Message) : this(messages.asList())

    internal constructor(json: JsonElement) : this(json.jsonArray)

    override val size: Int get() = json.size

    override fun get(index: Int): Message = Message.of(json[index].jsonObject)

    /** The conversation as JSON text. */
    override fun toString(): String = json.toString()

    public companion object {
        /** Reads the JSON text of a conversation. */
        @JvmStatic
        public fun parse(json: String): Transcript = Transcript(Json.parseToJsonElement(json).jsonArray)
    }
}

/**
 * A message of a conversation.
 *
 * @property json The message in AG-UI's form, with all that the other properties leave out.
 */
public sealed class Message(public val json: JsonObject) {
    /** The message's id. */
    public val id: String get() = json.text("id").orEmpty()

    override fun equals(other: Any?): Boolean = other is Message && other.json == json

    override fun hashCode(): Int = json.hashCode()

    override fun toString(): String = json.toString()

    internal companion object {
        fun of(json: JsonObject): Message = when (json.text("role")) {
            "user" -> UserMessage(json)
            "assistant" -> AssistantMessage(json)
            "tool" -> ToolMessage(json)
            "system", "developer" -> SystemMessage(json)
            else -> OtherMessage(json)
        }
    }
}

/** What the user said. */
public class UserMessage internal constructor(json: JsonObject) : Message(json) {
    /** A message of the user: a text. The id is random if absent. */
    @JvmOverloads
    public constructor(text: String, id: String = newId()) : this(message(id, "user", text))

    /** The text; the texts of its parts if it has media. */
    public val text: String get() = textOf(json)

    /** The parts of the message in AG-UI's form; one text if it has no media. */
    public val parts: List<JsonObject> get() = partsOf(json)
}

/** What the model said, and the tools that it called. */
public class AssistantMessage internal constructor(json: JsonObject) : Message(json) {
    /** A message of the model: a text. The id is random if absent. */
    @JvmOverloads
    public constructor(text: String, id: String = newId()) : this(message(id, "assistant", text))

    /** The text; empty if there is none. */
    public val text: String get() = textOf(json)

    /** The tools that the message calls. */
    public val toolCalls: List<ToolCall>
        get() = (json["toolCalls"] as? JsonArray).orEmpty().map { call ->
            val function = call.jsonObject["function"]?.jsonObject
            ToolCall(
                id = call.jsonObject.text("id").orEmpty(),
                name = function?.text("name").orEmpty(),
                arguments = function?.text("arguments").orEmpty(),
            )
        }
}

/**
 * A call of a tool.
 *
 * @property id The call's id, as [ToolMessage.toolCallId] has it.
 * @property name The tool's name.
 * @property arguments The arguments as the model wrote them: JSON, as a rule.
 */
public data class ToolCall(val id: String, val name: String, val arguments: String)

/** The result of a tool. */
public class ToolMessage internal constructor(json: JsonObject) : Message(json) {
    /** The call that it is the result of. */
    public val toolCallId: String get() = json.text("toolCallId").orEmpty()

    /** The text of the result. */
    public val text: String get() = textOf(json)
}

/** Instructions. */
public class SystemMessage internal constructor(json: JsonObject) : Message(json) {
    /** Instructions: a text. The id is random if absent. */
    @JvmOverloads
    public constructor(text: String, id: String = newId()) : this(message(id, "system", text))

    /** The text. */
    public val text: String get() = textOf(json)
}

/** A message of another role: the model's reasoning, an activity of an AG-UI agent. */
public class OtherMessage internal constructor(json: JsonObject) : Message(json) {
    /** The role in AG-UI's form. */
    public val role: String get() = json.text("role").orEmpty()
}

private fun newId(): String = UUID.randomUUID().toString()

private fun message(id: String, role: String, text: String) =
    JsonObject(mapOf("id" to id, "role" to role, "content" to text).mapValues { JsonPrimitive(it.value) })

private fun JsonObject.text(name: String): String? = (this[name] as? JsonPrimitive)?.contentOrNull

private fun partsOf(json: JsonObject): List<JsonObject> = when (val content = json["content"]) {
    is JsonArray -> content.map { it.jsonObject }
    is JsonPrimitive -> listOf(JsonObject(mapOf("type" to JsonPrimitive("text"), "text" to content)))
    else -> emptyList()
}

private fun textOf(json: JsonObject): String = when (val content = json["content"]) {
    is JsonPrimitive -> content.contentOrNull.orEmpty()
    else -> partsOf(json).mapNotNull { it.text("text") }.joinToString("")
}
