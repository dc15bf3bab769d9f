package dev.stepwell

import java.time.Instant
import kotlin.math.round
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.doubleOrNull
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.longOrNull
import kotlinx.serialization.json.put

// The host that the scenario files of tests/scenarios speak of. What the names mean stands there.

internal fun JsonObject.text(name: String): String? = (this[name] as? JsonPrimitive)?.contentOrNull

internal fun JsonObject.long(name: String): Long? = (this[name] as? JsonPrimitive)?.longOrNull

internal fun JsonObject.list(name: String): List<JsonElement> = (this[name] as? JsonArray).orEmpty()

private fun JsonObject.flag(name: String, default: Boolean = false): Boolean =
    (this[name] as? JsonPrimitive)?.booleanOrNull ?: default

private fun JsonObject.part(name: String): JsonObject = this[name] as? JsonObject ?: JsonObject(emptyMap())

private fun JsonObject.small(name: String, default: UInt): UInt = long(name)?.toUInt() ?: default

/** `null` is none, absence the default. */
private fun JsonObject.optional(name: String, default: ULong?): ULong? =
    if (name in this) long(name)?.toULong() else default

/** A time of so many milliseconds; `null` is none, absence the default. */
private fun JsonObject.time(name: String, default: Duration?): Duration? =
    if (name in this) long(name)?.milliseconds else default

/** The configuration of a scenario. */
internal fun config(said: JsonObject): RunConfig = RunConfig(
    provider = said.text("provider")!!,
    model = said.text("model").orEmpty(),
    api = said.text("api"),
    baseUrl = said.text("base_url"),
    key = said.text("key"),
    instructions = said.text("instructions"),
    tools = said.list("tools").map { tool(it.jsonObject) },
    settings = settings(said.part("settings")),
    limits = limits(said.part("limits")),
    retry = retry(said.part("retry")),
    timeouts = timeouts(said.part("timeouts")),
    runIds = if (said.text("run_ids") == "host") RunIds.HOST else null,
    credentials = if (said.text("credentials") == "host") Credentials.HOST else null,
    persistAttempts = said.long("persist_attempts")?.toUInt(),
    partialArguments = said.flag("partial_arguments"),
    device = device(said.part("device")),
    resumption = said.text("resumption")?.let { Resumption.valueOf(it.uppercase()) },
    text = TextOptions(said.part("text").flag("break_after_tools", default = true), said.part("text").flag("drop_blank")),
    contextGuard = contextGuard(said.part("context_guard")),
    agUi = agUi(said.part("ag_ui")),
    output = (said["output"] as? JsonObject)?.let(::output),
    hooks = said.list("hooks").map {
        val moments = it.jsonObject.list("moments").map { moment -> moment.jsonPrimitive.content }
        HookSpec(it.jsonObject.text("name")!!, moments.map { moment -> HookMoment.valueOf(moment.uppercase()) })
    },
)

private fun output(said: JsonObject) = OutputType(
    name = said.text("name")!!,
    schema = said.part("schema"),
    description = said.text("description"),
    mode = said.text("mode")?.let { OutputMode.valueOf(it.uppercase()) },
    retries = said.long("retries")?.toUInt(),
    decodedByHost = said.flag("decoded_by_host"),
)

private fun tool(said: JsonObject) = ToolDefinition(
    name = said.text("name")!!,
    description = said.text("description")!!,
    parameters = said["parameters"],
    requiresApproval = said.flag("requires_approval"),
    idempotent = said.flag("idempotent"),
    repeatable = said.flag("repeatable"),
    timeout = said.time("timeout_ms", null),
)

private fun settings(said: JsonObject) = GenerationSettings(
    temperature = (said["temperature"] as? JsonPrimitive)?.doubleOrNull,
    maxOutputTokens = said.long("max_output_tokens")?.toUInt(),
    responseFormat = (said["response_format"] as? JsonObject)?.let {
        ResponseFormat.Schema(it.text("name")!!, it.part("schema"), it.flag("strict"))
    },
    extra = said["extra"],
    context = said.list("context").map {
        ContextEntry(it.jsonObject.text("description")!!, it.jsonObject.text("value")!!)
    },
)

private fun texts(said: JsonObject) = said.mapValues { it.value.jsonPrimitive.content }

/** The options of a turn. */
private fun options(said: JsonObject) = TurnOptions(
    instructions = said.text("instructions"),
    settings = if ("settings" in said) settings(said.part("settings")) else null,
    limits = if ("limits" in said) limits(said.part("limits")) else null,
    toolNames = if ("tool_names" in said) said.list("tool_names").map { it.jsonPrimitive.content } else null,
    tools = said.list("tools").map { tool(it.jsonObject) },
    user = said.text("user"),
    output = (said["output"] as? JsonObject)?.let(::output),
)

private fun limits(said: JsonObject): Limits {
    val default = Limits()
    val repeats = said.part("repeats")
    return default.copy(
        maxToolRounds = said.small("max_tool_rounds", default.maxToolRounds),
        continueAfterTools = said.flag("continue_after_tools", default.continueAfterTools),
        maxParallelTools = said.small("max_parallel_tools", default.maxParallelTools),
        maxToolCalls = said.long("max_tool_calls")?.toUInt(),
        maxTokens = said.long("max_tokens")?.toULong(),
        maxCost = said.text("max_cost")?.toDouble(),
        maxDuration = said.time("max_duration_ms", null),
        repeats = RepeatLimit(
            repeats.optional("tell_after", default.repeats.tellAfter?.toULong())?.toUInt(),
            repeats.optional("stop_after", default.repeats.stopAfter?.toULong())?.toUInt(),
        ),
        atLimit = said.text("at_limit")?.let { LimitPolicy.valueOf(it.uppercase()) },
        maxAnswerBytes = said.long("max_answer_bytes")?.toULong() ?: default.maxAnswerBytes,
        maxAnswerCalls = said.small("max_answer_calls", default.maxAnswerCalls),
    )
}

private fun retry(said: JsonObject): RetryPolicy {
    val default = RetryPolicy()
    return RetryPolicy(
        attempts = said.small("attempts", default.attempts),
        firstDelay = said.time("first_delay_ms", default.firstDelay)!!,
        maxDelay = said.time("max_delay_ms", default.maxDelay)!!,
        maxRetryAfter = said.time("max_retry_after_ms", default.maxRetryAfter)!!,
        jitter = (said["jitter"] as? JsonPrimitive)?.doubleOrNull ?: default.jitter,
        seed = said.long("seed")?.toULong() ?: default.seed,
        emptyAnswer = said.text("empty_answer")?.let { EmptyAnswerPolicy.valueOf(it.uppercase()) },
    )
}

private fun timeouts(said: JsonObject): Timeouts {
    val default = Timeouts()
    return Timeouts(
        silence = said.time("silence_ms", default.silence),
        tool = said.time("tool_ms", default.tool),
        turn = said.time("turn_ms", default.turn),
        approval = said.time("approval_ms", default.approval),
        deferred = said.time("deferred_ms", default.deferred),
        credentials = said.time("credentials_ms", default.credentials),
        closing = said.time("closing_ms", default.closing),
    )
}

private fun device(said: JsonObject) = DevicePolicy(
    background = said.text("background")?.let { BackgroundPolicy.valueOf(it.uppercase()) },
    offline = said.time("offline_ms", DevicePolicy().offline),
    networkChange = said.text("network_change")?.let { NetworkChangePolicy.valueOf(it.uppercase()) },
    killed = said.text("killed")?.let { KilledPolicy.valueOf(it.uppercase()) },
)

private fun contextGuard(said: JsonObject): ContextGuard {
    val default = ContextGuard()
    return ContextGuard(
        window = said.long("window")?.toULong(),
        warnAt = if ("warn_at" in said) said["warn_at"]!!.jsonPrimitive.doubleOrNull else default.warnAt,
        atLimit = said.text("at_limit")?.let { ContextPolicy.valueOf(it.uppercase()) },
    )
}

private fun agUi(said: JsonObject) = AgUiOptions(
    encoding = said.text("encoding")?.let { AgUiEncoding.valueOf(it.uppercase()) },
    isBefore10 = (said["is_before_1_0"] as? JsonPrimitive)?.booleanOrNull,
    keepsUnknown = (said["keeps_unknown"] as? JsonPrimitive)?.booleanOrNull,
    verification = said.text("verification")?.let { Verification.valueOf(it.uppercase()) },
    extraRules = said.text("extra_rules")?.let { ExtraRules.valueOf(it.uppercase()) },
)

private fun compact(value: JsonElement): String =
    if (value is JsonPrimitive && value.isString) value.content else value.toString()

/** The bytes that a `receive` brings. */
private fun body(step: JsonObject): ByteArray = buildString {
    step.list("sse").forEach { append("data: ${compact(it)}\n\n") }
    for (frame in step.list("frames")) {
        for (name in listOf("id", "event")) frame.jsonObject.text(name)?.let { append("$name: $it\n") }
        append("data: ${compact(frame.jsonObject.getValue("data"))}\n\n")
    }
    step.list("lines").forEach { append("${compact(it)}\n") }
    append(step.text("text").orEmpty())
}.toByteArray()

private fun snake(name: String): String = name.replace(Regex("(?<!^)(?=[A-Z])"), "_").lowercase()

private fun kind(value: Any): String = snake(value::class.simpleName!!)

private fun key(call: CallKey) = "${call.hop}:${call.index}"

/** How a turn ended, in a line. */
internal fun line(outcome: Outcome): String = when (outcome) {
    is Outcome.Incomplete -> "incomplete ${outcome.reason.name.lowercase()}: ${outcome.message}"
    is Outcome.LimitReached -> "limit_reached ${kind(outcome.limit)}: ${outcome.message}"
    is Outcome.Failed -> "failed ${kind(outcome.failure)}: ${outcome.message}"
    else -> kind(outcome)
}

/** An event: its kind, what grows by it, and what it says. */
private fun line(event: Event): Triple<String, String?, String> {
    val kind = kind(event)
    fun said(text: Any) = Triple(kind, null, text.toString())
    return when (event) {
        is Event.TextMessageContent -> Triple(kind, event.messageId, event.delta)
        is Event.ReasoningMessageContent -> Triple(kind, event.messageId, event.delta)
        is Event.ToolCallArgs -> Triple(kind, event.toolCallId, event.delta)
        is Event.PartialArguments -> Triple(kind, event.toolCallId, "")
        is Event.PartialOutput -> Triple(kind, event.hop.toString(), "")
        is Event.HookRefused -> said("${event.hook} ${event.moment.name.lowercase()}, ${event.reason}")
        is Event.OutputRefused -> said("${event.retriesLeft}, ${event.reason}")
        is Event.ToolCallStart -> said(event.toolCallName)
        is Event.ToolCallResult -> said(event.content)
        is Event.StepStarted -> said(event.stepName)
        is Event.StepFinished -> said(event.stepName)
        is Event.Custom -> said(event.name)
        is Event.HopStarted -> said("${event.hop} ${event.runId}")
        is Event.ToolCallUpdate -> {
            val what = when (val result = event.result) {
                is ToolResult.Finished -> ": ${result.content}"
                is ToolResult.Failed -> " (${result.kind.name.lowercase()}): ${result.message}"
                null -> ""
            }
            said("${key(event.call)} ${event.status.name.lowercase()}$what")
        }
        is Event.Retrying -> said("${event.attempt} in ${event.delay.inWholeMilliseconds} ms, ${event.reason}")
        is Event.Interrupted -> said(event.interrupts.joinToString(" ") { it.id })
        is Event.AnswerDropped -> said(event.effect)
        is Event.Warning -> said(event.message)
        is Event.Completed -> said(line(event.outcome))
        is Event.UnknownToolCall -> said(event.toolCallId)
        is Event.SteeringTaken -> said("${event.messageId} ${event.hop}")
        is Event.SteeringRefused -> said(event.reason.name.lowercase())
        is Event.WaitingForNetwork -> said(event.upTo.inWholeMilliseconds)
        is Event.StreamResumed -> said("${event.hop}:${event.attempt}")
        is Event.ToolProgress -> {
            val percent = event.fraction?.let { "${round(it * 100).toInt()} %" }
            said(listOfNotNull(key(event.call), percent, event.message).joinToString(" "))
        }
        is Event.ToolPartialResult -> said("${key(event.call)} ${event.content}")
        is Event.ContextNearlyFull -> said("${event.tokens} of ${event.window}")
        is Event.ContextTrimmed -> said("${event.tokens}, without ${event.leftOut.joinToString(" ")}")
        else -> said("")
    }
}

/** The events in a line each; pieces of one thing that follow each other are one, however the bytes were cut. */
private fun lines(events: List<Event>): List<String> {
    val lines = mutableListOf<Triple<String, String?, String>>()
    for (event in events) {
        val line = line(event)
        val last = lines.lastOrNull()
        if (last != null && line.second != null && last.first == line.first && last.second == line.second) {
            lines[lines.size - 1] = last.copy(third = last.third + line.third)
        } else {
            lines += line
        }
    }
    return lines.map { (kind, _, detail) -> if (detail.isEmpty()) kind else "$kind: $detail" }
}

private fun json(effect: Effect): JsonObject = buildJsonObject {
    fun optional(name: String, value: String?) {
        if (value != null) put(name, value)
    }
    fun call(invocation: ToolInvocation) {
        put("tool_call_id", invocation.toolCallId)
        put("name", invocation.name)
        put("arguments", invocation.arguments)
        put("raw_arguments", invocation.rawArguments)
        if (invocation.attempt > 1u) put("attempt", invocation.attempt.toInt())
    }
    put("id", effect.id)
    put("effect", kind(effect))
    when (effect) {
        is Effect.CreateRun -> {
            put("thread_id", effect.threadId)
            optional("parent_run_id", effect.parentRunId)
        }
        is Effect.OpenStream -> {
            put("method", effect.request.method)
            put("url", effect.request.url)
            put("headers", JsonObject(effect.request.headers.associate { it.name to JsonPrimitive(it.value) }))
            put("body", Json.parseToJsonElement(effect.request.body.decodeToString()))
        }
        is Effect.AskApproval -> call(effect.invocation)
        is Effect.RunTool -> call(effect.invocation)
        is Effect.AskUser -> {
            put("tool_call_id", effect.invocation.toolCallId)
            put("message", effect.question.message)
            put("schema", effect.question.schema)
        }
        is Effect.AnswerTool -> when (val answer = effect.answer) {
            is UserAnswer.Given -> put("value", answer.value)
            is UserAnswer.Declined -> optional("reason", answer.reason)
        }
        is Effect.Persist -> {
            put("turn", effect.turn)
            put("status", effect.status.name.lowercase())
            optional("outcome", effect.outcome?.let(::line))
            val blocks = effect.blocks.map { block ->
                buildJsonObject {
                    put("sequence", block.sequence.toLong())
                    put("hop", block.hop.toLong())
                    put("content", block.content)
                }
            }
            put("blocks", JsonArray(blocks))
        }
        is Effect.TrimContext -> {
            put("tokens", effect.tokens.toLong())
            put("window", effect.window.toLong())
            val messages = effect.messages.map {
                buildJsonObject {
                    put("message_id", it.messageId)
                    put("tokens", it.tokens.toLong())
                }
            }
            put("messages", JsonArray(messages))
        }
        is Effect.DecodeOutput -> put("value", effect.value)
        is Effect.Authorize -> put("rejected", effect.rejected)
        is Effect.RunHook -> {
            put("hook", effect.hook)
            when (val subject = effect.subject) {
                is HookSubject.HookedRequest -> {
                    optional("instructions", subject.instructions)
                    put("messages", subject.messages)
                }
                is HookSubject.HookedAnswer -> put("text", subject.text)
                is HookSubject.HookedCall -> {
                    put("name", subject.invocation.name)
                    put("arguments", subject.invocation.arguments)
                }
                is HookSubject.HookedResult -> {
                    put("name", subject.invocation.name)
                    put("content", subject.content)
                    put("is_error", subject.isError)
                }
            }
        }
        is Effect.CloseStream, is Effect.CancelTool -> Unit
    }
}

/** Rust restores before each piece; this host before so many, unless it is thorough. */
private const val SHARE = 13

/** The runs of a scenario, and what is stored of them. */
internal class ScenarioHost(scenario: JsonObject) {
    private val config = config(scenario.getValue("config").jsonObject)
    val runs = mutableMapOf("run" to RunMachine(config, "thread-1", JsonArray(scenario.list("history"))))
    val written = mutableMapOf<String, String>()
    var now: Instant = Instant.EPOCH

    fun run(name: String = "run"): RunMachine = runs.getValue(name)

    /** How each run stands. */
    fun digests(): JsonObject = JsonObject(runs.mapValues { JsonPrimitive(it.value.digest()) })

    fun restore(name: String, snapshot: String) {
        runs[name] = RunMachine.restore(snapshot, config)
    }

    /** Takes one step: what came of it. */
    fun step(step: JsonObject): JsonObject {
        now = step.long("at")?.let(Instant::ofEpochMilli) ?: now
        val name = step.text("run") ?: "run"
        val came = mutableListOf<Outputs>()
        var error: String? = null
        try {
            play(name, step, came)
        } catch (refused: StepwellException.Misuse) {
            error = refused.reason
        } catch (refused: StepwellException.InvalidArgument) {
            error = refused.reason
        }
        val machine = run(name)
        came += machine.pollOutputs()
        val effects = came.flatMap { it.effects }
        for (effect in effects) if (effect is Effect.Persist) written["$name ${effect.id}"] = effect.snapshot
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

    private fun play(name: String, step: JsonObject, came: MutableList<Outputs>) {
        when (step.text("input")) {
            "new_run" -> {
                val history = step.text("history_of")?.let { run(it).messages() }
                runs[name] = RunMachine(config, step.text("thread_id") ?: "thread-1", history)
            }
            "restore" -> restore(name, run(name).snapshot())
            "revive" -> {
                val snapshot = step.text("written")?.let { written.getValue("$name $it") } ?: run(name).snapshot()
                runs[name] = RunMachine.revive(snapshot, config, now)
            }
            "receive" -> {
                val body = body(step)
                val cut = step.long("cut")?.toInt() ?: maxOf(body.size, 1)
                for (at in body.indices step cut) {
                    val isShare = at / cut % SHARE == 0 || System.getenv("STEPWELL_THOROUGH") != null
                    if (step["restore_between"] == JsonPrimitive(true) && isShare) {
                        runs.keys.toList().forEach { restore(it, run(it).snapshot()) }
                    }
                    val piece = body.copyOfRange(at, minOf(at + cut, body.size))
                    came += run(name).receive(step.text("effect")!!, piece, now = now)
                }
            }
            else -> came += input(run(name), step)
        }
    }

    private fun answers(step: JsonObject): List<ResumeEntry> = step.list("answers").map {
        val answer = it.jsonObject
        val status = ResumeStatus.valueOf(answer.text("status")!!.uppercase())
        ResumeEntry(answer.text("interruptId")!!, status, answer["payload"])
    }

    private fun hookAnswer(step: JsonObject): HookAnswer = when (val says = step.text("says")) {
        "go_on" -> HookAnswer.GoOn
        "change_request" -> HookAnswer.ChangeRequest(step.text("instructions"), step["messages"])
        "change_arguments" -> HookAnswer.ChangeArguments(step.getValue("arguments"))
        "change_result" -> HookAnswer.ChangeResult(step.getValue("content"))
        "refused" -> HookAnswer.Refused(step.text("reason")!!)
        "failed" -> HookAnswer.Failed(step.text("message")!!)
        else -> error("no hook says $says")
    }

    private fun input(machine: RunMachine, step: JsonObject): Outputs {
        fun text(name: String) = step.text(name)!!
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
                val body = compact(step.getValue("body")).toByteArray()
                machine.refused(effect(), step.long("status")!!.toInt(), body, step.time("retry_after_ms", null), now)
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
                val question = Question(text("message"), step.getValue("schema"))
                machine.toolAsks(effect(), step.long("number")!!.toUInt(), question, now)
            }
            "answer" -> machine.answer(effect(), step.getValue("value"), now)
            "decline" -> machine.decline(effect(), step.text("reason"), now)
            "approve" -> machine.approve(effect(), now, step["arguments"])
            "deny" -> machine.deny(effect(), step.text("reason"), now)
            "context_trimmed" -> {
                val keep = step.list("keep").map { it.jsonPrimitive.content }
                machine.contextTrimmed(effect(), keep, now, step.text("summary"))
            }
            "context_not_trimmed" -> machine.contextNotTrimmed(effect(), text("message"), now)
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
                val (hop, index) = text("call").split(":").map { it.toUInt() }
                machine.cancelCall(CallKey(hop, index), now)
            }
            "steer" -> machine.steer(text("message_id"), text("say"), now)
            "entered_background" -> machine.enteredBackground(now)
            "entered_foreground" -> machine.enteredForeground(now)
            "network_lost" -> machine.networkLost(now)
            "network_available" -> machine.networkAvailable(now)
            "dispose" -> machine.dispose(now)
            "timeout" -> machine.timeout(now)
            else -> error("no input $input")
        }
    }

    /** The conversation in a line each: who, and what. */
    fun history(): List<String> = run().messages().jsonArray.flatMap { element ->
        val message = element.jsonObject
        val role = message.text("role")
        val parts = message.list("content").map { it.jsonObject }.map { it.text("text") ?: "[${it.text("type")}]" }
        val content = message.text("content") ?: parts.joinToString(" ")
        val said = if (content.isEmpty()) emptyList() else listOf("$role: $content")
        said + message.list("toolCalls").map {
            val function = it.jsonObject.getValue("function").jsonObject
            "$role calls ${function.text("name")} ${function.text("arguments")}"
        }
    }
}
