package dev.stepwell.testing

import dev.stepwell.*
import java.time.Instant
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.doubleOrNull
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put

private fun compact(value: JsonElement): String =
    if (value is JsonPrimitive && value.isString) value.content else value.toString()

/** The bytes that a `receive` brings. */
private fun body(step: JsonObject): ByteArray = buildString {
    step.list("sse").forEach { append("data: ${compact(it)}\n\n") }
    for (frame in step.list("frames")) {
        for (name in listOf("id", "event")) frame.jsonObject.text(name)?.let { append("$name: $it\n") }
        append("data: ${compact(frame.jsonObject.json("data"))}\n\n")
    }
    step.list("lines").forEach { append("${compact(it)}\n") }
    append(step.text("text").orEmpty())
}.toByteArray()

/** The runs of a scenario, and their stored data. */
internal class ScenarioHost(scenario: JsonObject, private val restoreEvery: Int = 1) : AutoCloseable {
    private val config = config(scenario.json("config").jsonObject)
    val runs = mutableMapOf("run" to RunMachine(config, "thread-1", JsonArray(scenario.list("history"))))
    val written = mutableMapOf<String, String>()
    private val screens = ScenarioScreens().apply { begin("run", JsonArray(scenario.list("history"))) }
    var now: Instant = Instant.EPOCH

    fun run(name: String = "run"): RunMachine =
        requireNotNull(runs[name]) { "the scenario has no run `$name`: begin it by `new_run`" }

    private fun put(name: String, machine: RunMachine) {
        runs.put(name, machine)?.close()
    }

    override fun close() {
        screens.close()
        runs.values.forEach { it.close() }
    }

    /** The state of each run. */
    fun digests(): JsonObject = JsonObject(runs.mapValues { JsonPrimitive(it.value.digest()) })

    /** What a chat screen shows of each run. */
    fun chats(): JsonObject = JsonObject(
        buildMap { for ((name, run) in runs) screens.shown(name, run)?.let { put(name, it) } },
    )

    fun restore(name: String, snapshot: String) {
        put(name, RunMachine.restore(snapshot, config))
    }

    /** Takes one step, and returns its results. */
    fun step(step: JsonObject): JsonObject {
        now = step.long("at")?.let(Instant::ofEpochMilli) ?: now
        val name = step.text("run") ?: "run"
        val came = mutableListOf<Outputs>()
        var error: String? = null
        try {
            play(name, step, came)
        } catch (refused: StepwellException.Misuse) {
            error = refused.message
        }
        val machine = run(name)
        came += machine.pollOutputs()
        screens.take(name, came, now)
        val effects = came.flatMap { it.effects }
        for (effect in effects) if (effect is Effect.Persist) written["$name ${effect.id}"] = machine.snapshot()
        val events = lines(came.flatMap { it.events })
        return buildJsonObject {
            put("state", machine.state().name.lowercase())
            machine.pollTimeout()?.let { put("wake_at", it.toEpochMilli()) }
            machine.output()?.let { put("output", it) }
            error?.let { put("error", it) }
            if (effects.isNotEmpty()) put("effects", JsonArray(effects.map(::json)))
            if (events.isNotEmpty()) put("events", JsonArray(events.map(::JsonPrimitive)))
        }
    }

    private fun written(name: String, effect: String): String =
        requireNotNull(written["$name $effect"]) { "the run `$name` has written no `$effect`" }

    private fun play(name: String, step: JsonObject, came: MutableList<Outputs>) {
        when (step.text("input")) {
            "new_run" -> {
                val history = step.text("history_of")?.let { run(it).messages() }
                put(name, RunMachine(config, step.text("thread_id") ?: "thread-1", history))
                screens.begin(name, history ?: JsonArray(emptyList()))
            }
            "restore" -> restore(name, run(name).snapshot())
            "revive" -> {
                val snapshot = step.text("written")?.let { written(name, it) } ?: run(name).snapshot()
                put(name, RunMachine.revive(snapshot, config, now))
                screens.resume(name)
            }
            "receive" -> {
                val body = body(step)
                val cut = step.long("cut")?.toInt() ?: maxOf(body.size, 1)
                for (at in body.indices step cut) {
                    if (step["restore_between"] == JsonPrimitive(true) && at / cut % restoreEvery == 0) {
                        runs.keys.toList().forEach { restore(it, run(it).snapshot()) }
                    }
                    val piece = body.copyOfRange(at, minOf(at + cut, body.size))
                    came += run(name).receive(step.needed("effect"), piece, now = now)
                }
            }
            else -> {
                came += input(run(name), step)
                screens.act(name, step, now)
            }
        }
    }

    private fun answers(step: JsonObject): List<ResumeEntry> = step.list("answers").map {
        val answer = it.jsonObject
        val status = ResumeStatus.valueOf(answer.needed("status").uppercase())
        ResumeEntry(answer.needed("interruptId"), status, answer["payload"])
    }

    private fun hookAnswer(step: JsonObject): HookAnswer = when (val says = step.text("says")) {
        "go_on" -> HookAnswer.GoOn
        "change_request" -> HookAnswer.ChangeRequest(step.text("instructions"), step["messages"])
        "change_arguments" -> HookAnswer.ChangeArguments(step.json("arguments"))
        "change_result" -> HookAnswer.ChangeResult(step.json("content"))
        "refused" -> HookAnswer.Refused(step.needed("reason"))
        "failed" -> HookAnswer.Failed(step.needed("message"))
        else -> throw IllegalArgumentException("no hook says `$says`")
    }

    private fun input(machine: RunMachine, step: JsonObject): Outputs {
        fun text(name: String) = step.needed(name)
        fun effect() = text("effect")
        return when (val input = text("input")) {
            "start" -> {
                val message = step["message"]?.takeIf { it != JsonNull }
                val start = Start(
                    text("run_id"),
                    step.text("parent_run_id"),
                    step.text("say"),
                    message,
                    answers(step),
                    options(step.part("options")),
                )
                machine.start(start, now)
            }
            "run_created" -> machine.runCreated(effect(), text("run_id"), now)
            "run_not_created" -> machine.runNotCreated(effect(), text("message"), now)
            "opened" -> machine.opened(effect(), step.text("content_type"), now)
            "refused" -> {
                val body = compact(step.json("body")).toByteArray()
                machine.refused(effect(), step.needed("status").toInt(), body, step.time("retry_after_ms", null), now)
            }
            "connection_failed" -> machine.connectionFailed(effect(), text("message"), now)
            "ended" -> machine.ended(effect(), now)
            "lost" -> machine.lost(effect(), text("message"), now)
            "tool_finished" -> machine.toolFinished(effect(), text("content"), now)
            "tool_failed" -> machine.toolFailed(effect(), text("message"), now)
            "tool_deferred" -> machine.toolDeferred(effect(), now)
            "tool_progress" -> machine.toolProgress(
                effect(),
                (step["fraction"] as? JsonPrimitive)?.doubleOrNull,
                step.text("message"),
                now,
            )
            "tool_partial_result" -> machine.toolPartialResult(effect(), text("content"), now)
            "tool_asks" -> {
                val question = Question(text("message"), step.json("schema"))
                machine.toolAsks(effect(), step.needed("number").toInt(), question, now)
            }
            "answer" -> machine.answer(effect(), step.json("value"), now)
            "decline" -> machine.decline(effect(), step.text("reason"), now)
            "approve" -> machine.approve(effect(), now, step["arguments"])
            "deny" -> machine.deny(effect(), step.text("reason"), now)
            "context_trimmed" -> {
                val keep = step.list("keep").map { it.jsonPrimitive.content }
                machine.contextTrimmed(effect(), keep, now, step.text("summary"))
            }
            "context_not_trimmed" -> machine.contextNotTrimmed(effect(), text("message"), now)
            "model_resting" -> {
                val until = Instant.ofEpochMilli(step.needed("until_ms").toLong())
                machine.modelResting(step.needed("model").toInt(), until, now)
            }
            "model_chosen" -> machine.modelChosen(effect(), step.needed("model").toInt(), now)
            "model_not_chosen" -> machine.modelNotChosen(effect(), text("message"), now)
            "output_decoded" -> machine.outputDecoded(effect(), now)
            "output_refused" -> machine.outputRefused(effect(), text("reason"), now)
            "authorized" -> machine.authorized(effect(), step.text("key"), now, texts(step.part("headers")))
            "not_authorized" -> machine.notAuthorized(effect(), text("message"), now)
            "hook_answered" -> machine.hookAnswered(effect(), hookAnswer(step), now)
            "persisted" -> machine.persisted(effect(), now)
            "persist_failed" -> machine.persistFailed(effect(), text("message"), now)
            "resume" -> machine.resume(answers(step), now)
            "cancel" -> machine.cancel(now)
            "cancel_call" -> {
                val (hop, index) = text("call").split(":").map { it.toInt() }
                machine.cancelCall(CallKey(hop, index), now)
            }
            "steer" -> machine.steer(text("message_id"), text("say"), now)
            "entered_background" -> machine.enteredBackground(now)
            "entered_foreground" -> machine.enteredForeground(now)
            "network_lost" -> machine.networkLost(now)
            "network_available" -> machine.networkAvailable(now)
            "dispose" -> machine.dispose(now)
            "timeout" -> machine.timeout(now)
            else -> throw IllegalArgumentException("there is no input `$input`")
        }
    }
}
