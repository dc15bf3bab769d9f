import Foundation
import StepwellBindings

// Sets up the runs of a scenario. The names are defined in `tests/scenarios/README.md` of the repository.

private func responseFormat(_ said: Fields) throws -> ResponseFormat {
    .schema(name: try said.needed("name"), schema: try JsonValue(parsing: json(said.part("schema"))), strict: said.flag("strict"))
}

/// The configuration of a scenario.
func config(_ said: Fields) throws -> RunConfig {
    let text = said.part("text")
    return RunConfig(
        provider: try said.needed("provider"),
        model: said.text("model") ?? "",
        api: said.text("api"),
        baseUrl: said.text("base_url"),
        key: said.text("key"),
        credentials: said.text("credentials") == "host" ? .host : nil,
        instructions: said.text("instructions"),
        tools: try said.list("tools").map { try tool($0 as? Fields ?? [:]) },
        settings: try settings(said.part("settings")),
        limits: limits(said.part("limits")),
        retry: retry(said.part("retry")),
        fallback: try fallback(said.part("fallback")),
        timeouts: timeouts(said.part("timeouts")),
        runIds: said.text("run_ids") == "host" ? .host : nil,
        persistAttempts: said.small("persist_attempts"),
        partialArguments: said.flag("partial_arguments"),
        device: device(said.part("device")),
        resumption: said.text("resumption").flatMap {
            [
                "never": Resumption.never, "last_event_id": .lastEventId, "replay": .replay, "snapshot": .snapshot,
                "background": .background,
            ][$0]
        },
        text: TextOptions(breakAfterTools: text.flag("break_after_tools", default: true), dropBlank: text.flag("drop_blank")),
        contextGuard: contextGuard(said.part("context_guard")),
        compaction: try compaction(said.part("compaction")),
        agUi: agUi(said.part("ag_ui")),
        output: try said["output"].map { try output($0 as? Fields ?? [:]) },
        hooks: try said.list("hooks").map { try hook($0 as? Fields ?? [:]) }
    )
}

private func errorKind(_ name: String) -> ErrorKind? {
    [
        "overloaded": ErrorKind.overloaded, "rate_limit": .rateLimit, "server_error": .serverError,
        "connection": .connection, "timeout": .timeout, "output_invalid": .outputInvalid,
    ][name]
}

private func fallback(_ said: Fields) throws -> Fallback {
    Fallback(
        models: try said.list("models").map { try fallbackModel($0 as? Fields ?? [:]) },
        after: said.list("after").compactMap { $0 as? String }.compactMap(errorKind),
        afterText: said.flag("after_text"),
        rest: said.time("rest_ms", nil),
        choice: said.text("choice").flatMap { ["in_order": ModelChoice.inOrder, "host": .host][$0] }
    )
}

private func compaction(_ said: Fields) throws -> CompactionPolicy {
    CompactionPolicy(
        ways: try said.list("ways").map { try way($0 as? Fields ?? [:]) },
        at: said.double("at") ?? CompactionPolicy().at
    )
}

private func way(_ said: Fields) throws -> CompactionWay {
    switch try said.needed("type") {
    case "drop_results": return .dropResults(keep: said.small("keep") ?? 0)
    case "provider": return .provider
    case "host": return .host
    default:
        return .summary(
            model: try said["model"].map { try fallbackModel($0 as? Fields ?? [:]) },
            instructions: said.text("instructions"),
            keep: said.double("keep") ?? 0.25)
    }
}

private func fallbackModel(_ said: Fields) throws -> FallbackModel {
    FallbackModel(
        provider: try said.needed("provider"),
        model: said.text("model") ?? "",
        api: said.text("api"),
        baseUrl: said.text("base_url"),
        key: said.text("key"),
        credentials: said.text("credentials") == "host" ? .host : nil,
        settings: said["settings"] == nil ? nil : try settings(said.part("settings"))
    )
}

private func hook(_ said: Fields) throws -> HookSpec {
    let moments = said.list("moments").compactMap { $0 as? String }.compactMap {
        [
            "before_request": HookMoment.beforeRequest, "after_answer": .afterAnswer, "before_tool": .beforeTool,
            "after_tool": .afterTool,
        ][$0]
    }
    return HookSpec(name: try said.needed("name"), moments: moments)
}

private func output(_ said: Fields) throws -> OutputType {
    OutputType(
        name: try said.needed("name"),
        schema: try JsonValue(parsing: json(said.part("schema"))),
        description: said.text("description"),
        mode: said.text("mode").flatMap {
            ["auto": OutputMode.auto, "native": .native, "tool": .tool, "prompt": .prompt][$0]
        },
        retries: said.small("retries"),
        decodedByHost: said.flag("decoded_by_host")
    )
}

private func settings(_ said: Fields) throws -> GenerationSettings {
    GenerationSettings(
        temperature: said.double("temperature"), maxOutputTokens: said.small("max_output_tokens"),
        responseFormat: try said["response_format"].map { try responseFormat($0 as? Fields ?? [:]) },
        extra: try said.json("extra"),
        context: try said.list("context").map { try contextEntry($0 as? Fields ?? [:]) })
}

func texts(_ said: Fields) -> [String: String] {
    said.compactMapValues { $0 as? String }
}

/// The options of a turn.
func options(_ said: Fields) throws -> TurnOptions {
    TurnOptions(
        instructions: said.text("instructions"),
        settings: said["settings"] == nil ? nil : try settings(said.part("settings")),
        limits: said["limits"] == nil ? nil : limits(said.part("limits")),
        toolNames: said["tool_names"] == nil ? nil : said.list("tool_names").compactMap { $0 as? String },
        tools: try said.list("tools").map { try tool($0 as? Fields ?? [:]) },
        user: said.text("user"),
        output: try said["output"].map { try output($0 as? Fields ?? [:]) },
        wholeHistory: said.flag("whole_history")
    )
}

private func tool(_ said: Fields) throws -> ToolDefinition {
    ToolDefinition(
        name: try said.needed("name"),
        description: try said.needed("description"),
        parameters: try said.json("parameters"),
        requiresApproval: said.flag("requires_approval"),
        idempotent: said.flag("idempotent"),
        repeatable: said.flag("repeatable"),
        timeout: said.time("timeout_ms", nil)
    )
}

private func limits(_ said: Fields) -> Limits {
    let standard = Limits()
    let repeats = said.part("repeats")
    return Limits(
        maxToolRounds: said.small("max_tool_rounds") ?? standard.maxToolRounds,
        continueAfterTools: said.flag("continue_after_tools", default: standard.continueAfterTools),
        maxToolCalls: said.small("max_tool_calls"),
        maxTokens: said.number("max_tokens"),
        maxCost: said.double("max_cost"),
        maxDuration: said.time("max_duration_ms", nil),
        maxParallelTools: said.small("max_parallel_tools") ?? standard.maxParallelTools,
        repeats: RepeatLimit(
            tellAfter: repeats.optional("tell_after", standard.repeats.tellAfter.map(UInt64.init)).map(UInt32.init),
            stopAfter: repeats.optional("stop_after", standard.repeats.stopAfter.map(UInt64.init)).map(UInt32.init)),
        atLimit: said.text("at_limit").flatMap {
            ["fail": LimitPolicy.fail, "complete": .complete, "sum_up": .sumUp][$0]
        },
        maxAnswerBytes: said.number("max_answer_bytes") ?? standard.maxAnswerBytes,
        maxAnswerCalls: said.small("max_answer_calls") ?? standard.maxAnswerCalls
    )
}

private func retry(_ said: Fields) -> RetryPolicy {
    let standard = RetryPolicy()
    return RetryPolicy(
        attempts: said.small("attempts") ?? standard.attempts,
        firstDelay: said.time("first_delay_ms", nil) ?? standard.firstDelay,
        maxDelay: said.time("max_delay_ms", nil) ?? standard.maxDelay,
        maxRetryAfter: said.time("max_retry_after_ms", nil) ?? standard.maxRetryAfter,
        jitter: said.double("jitter") ?? standard.jitter,
        seed: said.number("seed") ?? standard.seed,
        byKind: said.list("by_kind").compactMap { retryAfter($0 as? Fields ?? [:]) },
        acceptEmpty: said.flag("accept_empty", default: standard.acceptEmpty)
    )
}

private func retryAfter(_ said: Fields) -> Retry? {
    errorKind(said.text("kind") ?? "").map {
        Retry(
            kind: $0, attempts: said.small("attempts"), firstDelay: said.time("first_delay_ms", nil),
            afterText: said.flag("after_text", default: false))
    }
}

private func timeouts(_ said: Fields) -> Timeouts {
    let standard = Timeouts()
    return Timeouts(
        silence: said.time("silence_ms", standard.silence),
        tool: said.time("tool_ms", standard.tool),
        turn: said.time("turn_ms", standard.turn),
        approval: said.time("approval_ms", standard.approval),
        deferred: said.time("deferred_ms", standard.deferred),
        credentials: said.time("credentials_ms", standard.credentials),
        closing: said.time("closing_ms", standard.closing)
    )
}

private func device(_ said: Fields) -> DevicePolicy {
    DevicePolicy(
        background: said.text("background").flatMap {
            ["continue": BackgroundPolicy.`continue`, "pause_clocks": .pauseClocks, "cancel": .cancel][$0]
        },
        offline: said.time("offline_ms", DevicePolicy().offline),
        networkChange: said.text("network_change").flatMap {
            ["keep": NetworkChangePolicy.keep, "reopen": .reopen][$0]
        },
        killed: said.text("killed").flatMap { ["continue": KilledPolicy.`continue`, "cancel": .cancel][$0] }
    )
}

private func contextGuard(_ said: Fields) -> ContextGuard {
    ContextGuard(
        window: said.number("window"),
        warnAt: said["warn_at"] == nil ? ContextGuard().warnAt : said.double("warn_at"),
        atLimit: said.text("at_limit").flatMap { ["send": ContextPolicy.send, "fail": .fail, "trim": .trim][$0] }
    )
}

private func agUi(_ said: Fields) -> AgUiOptions {
    AgUiOptions(
        encoding: said.text("encoding").flatMap {
            ["json": AgUiEncoding.json, "json_first": .jsonFirst, "protobuf_first": .protobufFirst][$0]
        },
        isBefore10: said["is_before_1_0"] == nil ? nil : said.flag("is_before_1_0"),
        keepsUnknown: said["keeps_unknown"] == nil ? nil : said.flag("keeps_unknown"),
        verification: said.text("verification").flatMap {
            ["protocol": Verification.protocol, "lenient": .lenient][$0]
        },
        extraRules: said.text("extra_rules").flatMap { ["off": ExtraRules.off, "warn": .warn, "fatal": .fatal][$0] }
    )
}

private func contextEntry(_ said: Fields) throws -> ContextEntry {
    ContextEntry(description: try said.needed("description"), value: try said.needed("value"))
}
