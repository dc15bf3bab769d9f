package dev.stepwell

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.boolean
import kotlinx.serialization.json.jsonPrimitive

// Short forms of a running tool's questions to the user.

/** Asks the user for a text; null if there is no answer. */
public suspend fun ToolContext<*>.ask(message: String): String? =
    answer(message, "type" to JsonPrimitive("string"))?.jsonPrimitive?.content

/** Asks the user for a yes or a no; null if there is no answer. */
public suspend fun ToolContext<*>.askYesOrNo(message: String): Boolean? =
    answer(message, "type" to JsonPrimitive("boolean"))?.jsonPrimitive?.boolean

/** Asks the user to choose one of these; null if there is no answer. */
public suspend fun ToolContext<*>.askChoice(message: String, choices: List<String>): String? =
    answer(message, "enum" to JsonArray(choices.map(::JsonPrimitive)))?.jsonPrimitive?.content

private suspend fun ToolContext<*>.answer(message: String, vararg schema: Pair<String, JsonElement>): JsonElement? =
    when (val answer = ask(Question(message, JsonObject(mapOf(*schema))))) {
        is UserAnswer.Given -> answer.value
        is UserAnswer.Declined -> null
    }
