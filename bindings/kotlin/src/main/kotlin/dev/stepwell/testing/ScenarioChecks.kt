package dev.stepwell.testing

import dev.stepwell.RunMachine
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.put

/** The results that differ from the scenario's file. */
internal fun differences(file: JsonObject, played: JsonObject): List<String> = buildList {
    fun compare(what: String, expected: JsonElement?, came: JsonElement?) {
        // An empty object should be filled in.
        val isSaid = expected != null && expected != JsonObject(emptyMap())
        if (isSaid && expected != came) add("$what: the file says $expected, it came to $came")
    }
    file.list("steps").zip(played.list("steps")).forEachIndexed { index, (step, came) ->
        compare("step ${index + 1} (${step.jsonObject.text("input")})", step.jsonObject["gives"], came.jsonObject["gives"])
    }
    compare("the digests", file["digests"], played["digests"])
    compare("the chats", file["chats"], played["chats"])
}

/** The author's expectations that the played scenario does not meet. */
internal fun unexpected(played: JsonObject, host: ScenarioHost): List<String> = buildList {
    fun compare(what: String, expected: JsonElement, came: JsonElement) {
        if (expected != came) add("$what should be $expected, it is $came")
    }
    val gives = played.list("steps").map { it.jsonObject.part("gives") }
    fun effects(kind: String) = gives.flatMap { it.list("effects") }.filter { it.jsonObject.text("effect") == kind }
    for ((what, expected) in played.part("expect")) {
        when (what) {
            "state" -> compare(what, expected, JsonPrimitive(host.run().state().name.lowercase()))
            "outcome" -> compare(what, expected, outcome(host.run()))
            "text" -> compare(what, expected, JsonPrimitive(host.run().text()))
            "history" -> compare(what, expected, texts(history(host.run())))
            "others" -> for ((name, other) in expected.jsonObject) {
                val came = buildJsonObject {
                    put("outcome", outcome(host.run(name)))
                    put("history", texts(history(host.run(name))))
                }
                compare("`$name`", other, came)
            }
            "tools_run" -> compare(what, expected, JsonArray(effects("run_tool").map { it.jsonObject.json("id") }))
            "requests" -> {
                val sent = JsonArray(effects("open_stream"))
                if (!holds(sent, expected)) compare(what, expected, sent)
            }
            "seen" -> {
                val events = gives.flatMap { it.list("events") }
                var rest = events
                val missing = expected.jsonArray.find { wanted ->
                    val at = rest.indexOf(wanted)
                    rest = rest.drop(at + 1)
                    at < 0
                }
                if (missing != null) add("$missing is not seen, in this order: $events")
            }
            else -> throw IllegalArgumentException("there is no expectation `$what`")
        }
    }
}

private fun texts(texts: List<String>) = JsonArray(texts.map(::JsonPrimitive))

/** The part of the outcome before the sentence: `failed api`, `success`. */
private fun outcome(machine: RunMachine): JsonPrimitive = JsonPrimitive(machine.outcome()?.let { line(it).substringBefore(":") })

/** Whether a value has all that is expected: an object may have more fields, a list must be as long. */
private fun holds(value: JsonElement, wanted: JsonElement): Boolean = when {
    value is JsonObject && wanted is JsonObject -> wanted.all { (name, field) -> holds(value[name] ?: JsonNull, field) }
    value is JsonArray && wanted is JsonArray ->
        value.size == wanted.size && value.zip(wanted).all { (item, part) -> holds(item, part) }
    else -> value == wanted
}

/** The conversation in a line each: the role, and the content. */
private fun history(machine: RunMachine): List<String> = machine.messages().jsonArray.flatMap { element ->
    val message = element.jsonObject
    val role = message.text("role")
    val parts = message.list("content").map { it.jsonObject }.map { it.text("text") ?: "[${it.text("type")}]" }
    val content = message.text("content") ?: parts.joinToString(" ")
    val said = if (content.isEmpty()) emptyList() else listOf("$role: $content")
    said + message.list("toolCalls").map {
        val function = it.jsonObject.json("function").jsonObject
        "$role calls ${function.text("name")} ${function.text("arguments")}"
    }
}
