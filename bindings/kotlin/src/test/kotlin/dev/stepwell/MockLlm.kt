package dev.stepwell

import java.io.File
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest as JavaRequest
import java.net.http.HttpResponse.BodyHandlers
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive

/** The scripted provider; without hops it plays the secret numbers. Each hop is JSON. */
class MockLlm(vararg hops: String) : AutoCloseable {
    private val process: Process = ProcessBuilder(listOf(program().path) + if (hops.isEmpty()) emptyList() else listOf("-"))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start()

    val baseUrl: String

    init {
        if (hops.isNotEmpty()) {
            process.outputStream.write("""{"hops":[${hops.joinToString()}]}""".toByteArray())
            process.outputStream.flush()
        }
        val line = requireNotNull(process.inputStream.bufferedReader().readLine()) { "mock-llm did not start" }
        baseUrl = Json.parseToJsonElement(line).jsonObject.getValue("base_url").jsonPrimitive.content
    }

    /** The model that it plays. */
    val model: Model get() = Model.openaiCompatible("mock", baseUrl)

    /** What the app sent. */
    fun requests(): List<JsonObject> = get("/__requests").map { it.jsonObject }

    /** What was wrong with it. */
    fun failures(): JsonArray = get("/__failures")

    private fun get(path: String): JsonArray {
        val request = JavaRequest.newBuilder(URI(baseUrl.removeSuffix("/v1") + path)).build()
        val body = HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body()
        return Json.parseToJsonElement(body).jsonArray
    }

    /** It ends with its standard input. */
    override fun close() {
        process.outputStream.close()
        process.waitFor()
    }

    companion object {
        private fun program(): File {
            System.getenv("STEPWELL_MOCK_LLM")?.let { return File(it) }
            val target = System.getenv("CARGO_TARGET_DIR") ?: "../../target"
            return listOf("debug", "release").map { File("$target/$it/mock-llm") }.firstOrNull { it.exists() }
                ?: error("there is no mock-llm: run `cargo build -p stepwell-mock-llm`, or set STEPWELL_MOCK_LLM")
        }

        /** A hop that says something. */
        fun text(text: String) = """{"steps":[{"text":"$text"}]}"""

        /** A hop that asks for a tool. */
        fun call(name: String, arguments: String) =
            """{"steps":[{"tool_call":{"name":"$name","arguments":$arguments}}]}"""

        /** A hop that says something and then nothing more. */
        fun stall(text: String) = """{"steps":[{"text":"$text"},"stall"]}"""
    }
}
