package dev.stepwell.example.chat

import dev.stepwell.Interrupt
import dev.stepwell.ResumeEntry
import dev.stepwell.ResumeStatus
import dev.stepwell.ToolInvocation
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.doubleOrNull
import kotlinx.serialization.json.jsonObject

/** What a turn asks the user. Several may be open at once. */
sealed interface Question {
    /** The same for as long as it is open. */
    val id: String

    /** May this tool run? */
    data class Approval(override val id: String, val invocation: ToolInvocation) : Question

    /** What an AG-UI agent wants to know before it goes on. */
    data class FromAgent(val interrupt: Interrupt) : Question {
        override val id: String get() = interrupt.id

        /** Whether it wants a yes or a no, as for one of its own tools. */
        val isApproval: Boolean
            get() = interrupt.responseSchema?.jsonObject
                ?.get("properties").let { it as? JsonObject }?.containsKey("approved") ?: false
    }
}

/** What the user says to a [Question]. */
sealed interface Answer {
    /** It may. */
    data object Approved : Answer

    /** It may not; the model reads why. */
    data class Denied(val reason: String? = null) : Answer

    /** An answer in words, or in JSON where the agent wants that. */
    data class Said(val text: String) : Answer

    /** None is given. */
    data object Dismissed : Answer
}

/** The answer as the agent is sent it. */
internal fun Interrupt.answeredWith(answer: Answer): ResumeEntry {
    val payload = when (answer) {
        is Answer.Approved -> JsonObject(mapOf("approved" to JsonPrimitive(true)))
        is Answer.Denied -> JsonObject(
            mapOf("approved" to JsonPrimitive(false)) + answer.reason?.let { mapOf("reason" to JsonPrimitive(it)) }.orEmpty(),
        )
        is Answer.Said -> json(answer.text) ?: JsonPrimitive(answer.text)
        is Answer.Dismissed -> return ResumeEntry(id, ResumeStatus.CANCELLED)
    }
    return ResumeEntry(id, ResumeStatus.RESOLVED, payload)
}

/** What is written, if it is JSON. The parser alone would take a bare word for a value. */
private fun json(text: String): JsonElement? = try {
    Json.parseToJsonElement(text).takeIf { it.isJson() }
} catch (_: SerializationException) {
    null
}

private fun JsonElement.isJson(): Boolean = when (this) {
    is JsonObject -> values.all { it.isJson() }
    is JsonArray -> all { it.isJson() }
    is JsonPrimitive -> isString || this is JsonNull || booleanOrNull != null || doubleOrNull != null
}
