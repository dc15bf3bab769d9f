package dev.stepwell.example.chat

import dev.stepwell.Event
import dev.stepwell.Outcome
import dev.stepwell.ToolCallStatus
import dev.stepwell.ToolResult
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject

/** A line of the chat. */
sealed interface ChatItem {
    /** The same for as long as it is shown. */
    val id: String

    /** What the user said. */
    data class User(override val id: String, val text: String) : ChatItem

    /** What the model says; it grows while it comes. */
    data class Model(override val id: String, val text: String) : ChatItem

    /** A tool, at work or done. */
    data class Tool(
        override val id: String,
        val name: String,
        val status: ToolCallStatus = ToolCallStatus.STREAMING,
        val result: String = "",
    ) : ChatItem
}

/** What is on the screen. */
data class ChatState(
    val items: List<ChatItem> = emptyList(),
    /** A turn is under way, or not yet stored. */
    val running: Boolean = false,
    /** What the turn asks the user, oldest first. */
    val questions: List<Question> = emptyList(),
    /** Why the last turn did not end well. */
    val problem: String? = null,
) {
    /** The screen after an event. */
    fun after(event: Event): ChatState = when (event) {
        is Event.TextMessageStart -> copy(items = items + ChatItem.Model(event.messageId, ""))
        is Event.TextMessageContent -> changed<ChatItem.Model>(event.messageId) { it.copy(text = it.text + event.delta) }
        is Event.ToolCallStart -> copy(items = items + ChatItem.Tool(event.toolCallId, event.toolCallName))
        is Event.ToolCallUpdate -> changed<ChatItem.Tool>(event.toolCallId) { tool ->
            tool.copy(status = event.status, result = event.result?.shown() ?: tool.result)
        }
        is Event.Retrying -> copy(problem = "Trying again: ${event.reason}")
        is Event.WaitingForNetwork -> copy(problem = "There is no network.")
        is Event.HopStarted -> copy(problem = null)
        is Event.Completed -> copy(problem = event.outcome.problem())
        else -> this
    }

    private inline fun <reified T : ChatItem> changed(id: String, change: (T) -> T): ChatState {
        val index = items.indexOfLast { it.id == id }
        val item = items.getOrNull(index) as? T ?: return this
        return copy(items = items.toMutableList().also { it[index] = change(item) })
    }

    companion object {
        /** The screen of a stored conversation: AG-UI messages, oldest first. */
        fun of(messages: JsonElement): ChatState {
            val results = mutableMapOf<String, String>()
            val items = mutableListOf<ChatItem>()
            for (message in messages.jsonArray.map { it.jsonObject }) {
                val id = message.text("id")
                val text = text(message["content"])
                when (message.text("role")) {
                    "user" -> items += ChatItem.User(id, text)
                    "assistant" -> {
                        if (text.isNotEmpty()) items += ChatItem.Model(id, text)
                        for (call in (message["toolCalls"] as? JsonArray).orEmpty().map { it.jsonObject }) {
                            val name = call.getValue("function").jsonObject.text("name")
                            items += ChatItem.Tool(call.text("id"), name, ToolCallStatus.PENDING)
                        }
                    }
                    "tool" -> results[message.text("toolCallId")] = text
                }
            }
            return ChatState(
                items.map { item ->
                    val result = (item as? ChatItem.Tool)?.let { results[it.id] } ?: return@map item
                    item.copy(status = ToolCallStatus.COMPLETED, result = result)
                },
            )
        }
    }
}

private fun JsonObject.text(name: String): String = (get(name) as? JsonPrimitive)?.contentOrNull.orEmpty()

/** Content is text, or a list of parts of which some are. */
private fun text(content: JsonElement?): String = when (content) {
    is JsonPrimitive -> content.contentOrNull.orEmpty()
    is JsonArray -> content.joinToString("") { (it as? JsonObject)?.text("text").orEmpty() }
    else -> ""
}

private fun ToolResult.shown(): String = when (this) {
    is ToolResult.Finished -> content
    is ToolResult.Failed -> message
}

private fun Outcome.problem(): String? = when (this) {
    is Outcome.Success -> null
    is Outcome.Cancelled -> "Stopped."
    is Outcome.Truncated -> "The answer was cut off."
    is Outcome.Incomplete -> message
    is Outcome.LimitReached -> message
    is Outcome.Failed -> message
}
