package dev.stepwell.testing

import dev.stepwell.*
import java.time.Instant
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put

/** The chat screens of a scenario's runs, by the names of the runs. */
internal class ScenarioScreens : AutoCloseable {
    private val screens = mutableMapOf<String, ChatReducer>()

    /** Begins the screen of a run on a history. */
    fun begin(name: String, messages: JsonElement) {
        screens.put(name, ChatReducer.fromMessages(messages))?.close()
    }

    private fun screen(name: String): ChatReducer {
        if (name !in screens) begin(name, JsonArray(emptyList()))
        return screens.getValue(name)
    }

    /** Notes an action of the app that the run took. */
    fun act(name: String, step: JsonObject, now: Instant) {
        val screen = screen(name)
        when (step.text("input")) {
            "start" -> {
                val id = step.needed("run_id")
                val message = step.text("say")?.let { said("$id-user", it) } ?: step["message"] as? JsonObject
                screen.begin(id, message, now)
            }
            "steer" -> screen.steer(said(step.needed("message_id"), step.needed("say")))
            "answer", "decline" -> screen.settle(step.needed("effect"))
        }
    }

    fun resume(name: String): Unit = screen(name).resume()

    /** Notes the outputs of a run. */
    fun take(name: String, came: List<Outputs>, now: Instant) {
        val screen = screen(name)
        for (outputs in came) {
            for (effect in outputs.effects) {
                when (effect) {
                    is Effect.AskUser -> {
                        val (call, id) = effect.invocation.run { call to toolCallId }
                        screen.ask(call, id, effect.id.substringAfterLast(':').toInt(), effect.question)
                    }
                    is Effect.CancelTool -> if (effect.id.startsWith("ask:")) screen.settle(effect.id)
                    else -> Unit
                }
            }
            screen.apply(outputs.events, now)
        }
    }

    /** What the screen of a run shows; null if it has none. */
    fun shown(name: String, run: RunMachine): JsonObject? {
        val screen = screens[name] ?: return null
        screen.setUsage(run.usage())
        val state = screen.state()
        return buildJsonObject {
            put("status", state.status.name.lowercase())
            if (state.pending.isNotEmpty()) put("pending", JsonArray(state.pending.map { JsonPrimitive(it.id) }))
            state.problem?.let { put("problem", camel(it.kind.name)) }
            put("lines", JsonArray(state.messages.flatMap(::lines).map(::JsonPrimitive)))
            put("digest", screen.digest())
        }
    }

    override fun close() {
        screens.values.forEach { it.close() }
    }
}

private fun said(id: String, text: String) = buildJsonObject {
    put("id", id)
    put("role", "user")
    put("content", text)
}

/** A word as JSON has it: `toolFailed`. */
private fun camel(name: String): String =
    name.lowercase().replace(Regex("_([a-z])")) { it.groupValues[1].uppercase() }

/** The parts of a message in a line each. */
private fun lines(message: ChatMessage): List<String> {
    val role = message.role.name.lowercase()
    val said = message.parts.map { "$role: ${line(it)}" }
    return if (message.isCut) said + "$role: (cut)" else said
}

private fun line(part: ChatPart): String = when (part) {
    is ChatPart.Text -> part.text
    is ChatPart.Reasoning -> "(reasoning) ${part.text}"
    is ChatPart.Tool -> {
        val said = part.card.result ?: part.card.failure
        "[${part.card.label} ${camel(part.card.status.name)}${said?.let { ": $it" }.orEmpty()}]"
    }
    is ChatPart.Media -> "[${(part.media.json as JsonObject).text("type")}]"
    is ChatPart.Activity -> "[${part.activityType}]"
}
