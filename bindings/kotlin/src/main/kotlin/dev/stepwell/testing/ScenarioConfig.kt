package dev.stepwell.testing

import dev.stepwell.*
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.doubleOrNull
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.longOrNull

// Sets up the runs of a scenario. The names are defined in `tests/scenarios/README.md` of the repository.

internal fun JsonObject.text(name: String): String? = (this[name] as? JsonPrimitive)?.contentOrNull

internal fun JsonObject.needed(name: String): String = requireNotNull(text(name)) { "there is no text `$name` in $this" }

internal fun JsonObject.json(name: String): JsonElement = requireNotNull(this[name]) { "there is no `$name` in $this" }

internal fun JsonObject.long(name: String): Long? = (this[name] as? JsonPrimitive)?.longOrNull

private fun JsonObject.number(name: String): Double? = (this[name] as? JsonPrimitive)?.doubleOrNull

internal fun JsonObject.list(name: String): List<JsonElement> = (this[name] as? JsonArray).orEmpty()

private fun JsonObject.flag(name: String, default: Boolean = false): Boolean =
    (this[name] as? JsonPrimitive)?.booleanOrNull ?: default

internal fun JsonObject.part(name: String): JsonObject = this[name] as? JsonObject ?: JsonObject(emptyMap())

private fun JsonObject.small(name: String, default: Int): Int = long(name)?.toInt() ?: default

/** `null` means none, absence the default. */
private fun JsonObject.optional(name: String, default: Int?): Int? =
    if (name in this) long(name)?.toInt() else default

/** A time in milliseconds; `null` means none, absence the default. */
internal fun JsonObject.time(name: String, default: Duration?): Duration? =
    if (name in this) long(name)?.milliseconds else default

/** The configuration of a scenario. */
internal fun config(said: JsonObject): RunConfig = RunConfig(
    provider = said.needed("provider"),
    model = said.text("model").orEmpty(),
    api = said.text("api"),
    baseUrl = said.text("base_url"),
    key = said.text("key"),
    instructions = said.text("instructions"),
    tools = said.list("tools").map { tool(it.jsonObject) },
    settings = settings(said.part("settings")),
    limits = limits(said.part("limits")),
    retry = retry(said.part("retry")),
    fallback = fallback(said.part("fallback")),
    timeouts = timeouts(said.part("timeouts")),
    runIds = if (said.text("run_ids") == "host") RunIds.HOST else null,
    credentials = if (said.text("credentials") == "host") Credentials.HOST else null,
    persistAttempts = said.long("persist_attempts")?.toInt(),
    partialArguments = said.flag("partial_arguments"),
    device = device(said.part("device")),
    resumption = said.text("resumption")?.let { Resumption.valueOf(it.uppercase()) },
    text = TextOptions(said.part("text").flag("break_after_tools", default = true), said.part("text").flag("drop_blank")),
    contextGuard = contextGuard(said.part("context_guard")),
    compaction = compaction(said.part("compaction")),
    agUi = agUi(said.part("ag_ui")),
    output = (said["output"] as? JsonObject)?.let(::output),
    hooks = said.list("hooks").map {
        val moments = it.jsonObject.list("moments").map { moment -> moment.jsonPrimitive.content }
        HookSpec(it.jsonObject.needed("name"), moments.map { moment -> HookMoment.valueOf(moment.uppercase()) })
    },
)

private fun fallback(said: JsonObject) = Fallback(
    models = said.list("models").map { otherModel(it.jsonObject) },
    after = said.list("after").map { ErrorKind.valueOf(it.jsonPrimitive.content.uppercase()) },
    afterText = said.flag("after_text"),
    rest = said.time("rest_ms", null),
    choice = said.text("choice")?.let { ModelChoice.valueOf(it.uppercase()) },
)

private fun otherModel(said: JsonObject) = FallbackModel(
    provider = said.needed("provider"),
    model = said.text("model").orEmpty(),
    api = said.text("api"),
    baseUrl = said.text("base_url"),
    key = said.text("key"),
    credentials = if (said.text("credentials") == "host") Credentials.HOST else null,
    settings = (said["settings"] as? JsonObject)?.let(::settings),
)

private fun compaction(said: JsonObject) = CompactionPolicy(
    ways = said.list("ways").map { way(it.jsonObject) },
    at = said.number("at") ?: CompactionPolicy().at,
)

private fun way(said: JsonObject): CompactionWay = when (val type = said.needed("type")) {
    "drop_results" -> CompactionWay.DropResults(said.needed("keep").toInt())
    "summary" -> CompactionWay.Summary(
        (said["model"] as? JsonObject)?.let(::otherModel),
        said.text("instructions"),
        said.number("keep") ?: CompactionWay.Summary().keep,
    )
    "provider" -> CompactionWay.Provider
    "host" -> CompactionWay.Host
    else -> error("no way of compaction $type")
}

private fun output(said: JsonObject) = OutputType(
    name = said.needed("name"),
    schema = said.part("schema"),
    description = said.text("description"),
    mode = said.text("mode")?.let { OutputMode.valueOf(it.uppercase()) },
    retries = said.long("retries")?.toInt(),
    decodedByHost = said.flag("decoded_by_host"),
)

private fun tool(said: JsonObject) = ToolDefinition(
    name = said.needed("name"),
    description = said.needed("description"),
    parameters = said["parameters"],
    requiresApproval = said.flag("requires_approval"),
    idempotent = said.flag("idempotent"),
    repeatable = said.flag("repeatable"),
    timeout = said.time("timeout_ms", null),
)

private fun settings(said: JsonObject) = GenerationSettings(
    temperature = (said["temperature"] as? JsonPrimitive)?.doubleOrNull,
    maxOutputTokens = said.long("max_output_tokens")?.toInt(),
    responseFormat = (said["response_format"] as? JsonObject)?.let {
        ResponseFormat.Schema(it.needed("name"), it.part("schema"), it.flag("strict"))
    },
    extra = said["extra"],
    context = said.list("context").map {
        ContextEntry(it.jsonObject.needed("description"), it.jsonObject.needed("value"))
    },
)

internal fun texts(said: JsonObject) = said.mapValues { it.value.jsonPrimitive.content }

/** The options of a turn. */
internal fun options(said: JsonObject) = TurnOptions(
    instructions = said.text("instructions"),
    settings = if ("settings" in said) settings(said.part("settings")) else null,
    limits = if ("limits" in said) limits(said.part("limits")) else null,
    toolNames = if ("tool_names" in said) said.list("tool_names").map { it.jsonPrimitive.content } else null,
    tools = said.list("tools").map { tool(it.jsonObject) },
    user = said.text("user"),
    output = (said["output"] as? JsonObject)?.let(::output),
    wholeHistory = said.flag("whole_history"),
)

private fun limits(said: JsonObject): Limits {
    val default = Limits()
    val repeats = said.part("repeats")
    return default.copy(
        maxToolRounds = said.small("max_tool_rounds", default.maxToolRounds),
        continueAfterTools = said.flag("continue_after_tools", default.continueAfterTools),
        maxParallelTools = said.small("max_parallel_tools", default.maxParallelTools),
        maxToolCalls = said.long("max_tool_calls")?.toInt(),
        maxTokens = said.long("max_tokens"),
        maxCost = said.text("max_cost")?.toDouble(),
        maxDuration = said.time("max_duration_ms", null),
        repeats = RepeatLimit(
            repeats.optional("tell_after", default.repeats.tellAfter),
            repeats.optional("stop_after", default.repeats.stopAfter),
        ),
        atLimit = said.text("at_limit")?.let { LimitPolicy.valueOf(it.uppercase()) },
        maxAnswerBytes = said.long("max_answer_bytes") ?: default.maxAnswerBytes,
        maxAnswerCalls = said.small("max_answer_calls", default.maxAnswerCalls),
    )
}

private fun retry(said: JsonObject): RetryPolicy {
    val default = RetryPolicy()
    return RetryPolicy(
        attempts = said.small("attempts", default.attempts),
        firstDelay = said.time("first_delay_ms", null) ?: default.firstDelay,
        maxDelay = said.time("max_delay_ms", null) ?: default.maxDelay,
        maxRetryAfter = said.time("max_retry_after_ms", null) ?: default.maxRetryAfter,
        jitter = (said["jitter"] as? JsonPrimitive)?.doubleOrNull ?: default.jitter,
        seed = said.long("seed") ?: default.seed,
        byKind = said.list("by_kind").map { retryAfter(it.jsonObject) },
        acceptEmpty = said.flag("accept_empty", default.acceptEmpty),
    )
}

private fun retryAfter(said: JsonObject) = Retry(
    kind = ErrorKind.valueOf(said.text("kind").orEmpty().uppercase()),
    attempts = said.long("attempts")?.toInt(),
    firstDelay = said.time("first_delay_ms", null),
    afterText = said.flag("after_text", false),
)

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
        window = said.long("window"),
        warnAt = if ("warn_at" in said) said.json("warn_at").jsonPrimitive.doubleOrNull else default.warnAt,
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
