package dev.stepwell

import java.io.File
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive

/** What every language's first program is tried with. */
class FirstContact private constructor(json: JsonObject) {
    private fun text(json: JsonObject, name: String) = json[name]?.jsonPrimitive?.content

    val name: String = text(json, "case").orEmpty()

    /** What the model answers; nobody listens if there are none. */
    val hops: List<String>? = json["hops"]?.jsonArray?.map { it.toString() }

    /** What the model says in the end, if it does. */
    val answers: String? = text(json, "answers")

    /** A part of what the app says is wrong. */
    val says: String? = text(json, "says")

    /** Gives the address at which this happens: port 2 if nobody listens, which the system gives to nobody. */
    inline fun played(test: (baseUrl: String) -> Unit) {
        val hops = hops ?: return test("http://127.0.0.1:2/v1")
        MockLlm(*hops.toTypedArray()).use { test(it.baseUrl) }
    }

    companion object {
        val cases: List<FirstContact> = Json.parseToJsonElement(File("../../tests/first-contact.json").readText())
            .jsonArray.map { FirstContact(it.jsonObject) }
    }
}
