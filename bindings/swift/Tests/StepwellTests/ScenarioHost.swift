import Foundation

@testable import Stepwell

// The host that the scenario files of tests/scenarios speak of. What the names mean stands there.

/// Rust restores before each piece; this host before so many, unless it is thorough.
private let share = 13
private let isThorough = ProcessInfo.processInfo.environment["STEPWELL_THOROUGH"] != nil

typealias Fields = [String: Any]

/// A mistake of the scenario, or of this host.
struct Unplayable: Error, CustomStringConvertible {
    let description: String
}

extension Dictionary where Key == String, Value == Any {
    func text(_ name: String) -> String? { self[name] as? String }
    func number(_ name: String) -> UInt64? { (self[name] as? NSNumber)?.uint64Value }
    func small(_ name: String) -> UInt32? { (self[name] as? NSNumber)?.uint32Value }
    func double(_ name: String) -> Double? { (self[name] as? NSNumber)?.doubleValue }
    func flag(_ name: String, default standard: Bool = false) -> Bool { self[name] as? Bool ?? standard }
    func list(_ name: String) -> [Any] { self[name] as? [Any] ?? [] }
    func part(_ name: String) -> Fields { self[name] as? Fields ?? [:] }

    func needed(_ name: String) throws -> String {
        guard let text = text(name) else { throw Unplayable(description: "no \(name) in \(self)") }
        return text
    }

    /// `null` is none, absence the default.
    func optional(_ name: String, _ standard: UInt64?) -> UInt64? {
        self[name] == nil ? standard : number(name)
    }
}

extension Dictionary where Key == String, Value == Any {
    /// A time of so many milliseconds; `null` is none, absence the default.
    func time(_ name: String, _ standard: Duration?) -> Duration? {
        self[name] == nil ? standard : number(name).map { .milliseconds(Int64($0)) }
    }

    /// Any JSON.
    func json(_ name: String) throws -> JsonValue? {
        try self[name].map { JsonValue(text: try StepwellTests.json($0)) }
    }
}

func parsed(_ text: String) throws -> Any {
    try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
}

/// A line of a stream: text as it is.
func compact(_ value: Any) throws -> String {
    try value as? String ?? json(value)
}

/// Foundation keeps no order of keys: this is one that a file can have too, where what is kept as it came counts.
func json(_ value: Any) throws -> String {
    let options: JSONSerialization.WritingOptions = [.fragmentsAllowed, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try JSONSerialization.data(withJSONObject: value, options: options), as: UTF8.self)
}

private func responseFormat(_ said: Fields) throws -> ResponseFormat {
    .schema(name: try said.needed("name"), schema: JsonValue(text: try json(said.part("schema"))), strict: said.flag("strict"))
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
        timeouts: timeouts(said.part("timeouts")),
        runIds: said.text("run_ids") == "host" ? .host : nil,
        persistAttempts: said.small("persist_attempts"),
        partialArguments: said.flag("partial_arguments"),
        device: device(said.part("device")),
        resumption: said.text("resumption").flatMap {
            ["never": Resumption.never, "last_event_id": .lastEventId, "replay": .replay, "snapshot": .snapshot][$0]
        },
        text: TextOptions(breakAfterTools: text.flag("break_after_tools", default: true), dropBlank: text.flag("drop_blank")),
        contextGuard: contextGuard(said.part("context_guard")),
        agUi: agUi(said.part("ag_ui")),
        output: try said["output"].map { try output($0 as? Fields ?? [:]) },
        hooks: try said.list("hooks").map { try hook($0 as? Fields ?? [:]) }
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

private func hookAnswer(_ step: Fields) throws -> HookAnswer {
    switch try step.needed("says") {
    case "go_on": .goOn
    case "change_request": .changeRequest(.init(instructions: step.text("instructions"), messages: try step.json("messages")))
    case "change_arguments": .changeArguments(.init(arguments: try step.json("arguments") ?? JsonValue(text: "null")))
    case "change_result": .changeResult(.init(content: try step.json("content") ?? JsonValue(text: "null")))
    case "refused": .refused(.init(reason: try step.needed("reason")))
    case "failed": .failed(.init(message: try step.needed("message")))
    case let says: throw Unplayable(description: "no hook says \(says)")
    }
}

private func output(_ said: Fields) throws -> OutputType {
    OutputType(
        name: try said.needed("name"),
        schema: JsonValue(text: try json(said.part("schema"))),
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

private func texts(_ said: Fields) -> [String: String] {
    said.compactMapValues { $0 as? String }
}

/// The options of a turn.
private func options(_ said: Fields) throws -> TurnOptions {
    TurnOptions(
        instructions: said.text("instructions"),
        settings: said["settings"] == nil ? nil : try settings(said.part("settings")),
        limits: said["limits"] == nil ? nil : limits(said.part("limits")),
        toolNames: said["tool_names"] == nil ? nil : said.list("tool_names").compactMap { $0 as? String },
        tools: try said.list("tools").map { try tool($0 as? Fields ?? [:]) },
        user: said.text("user"),
        output: try said["output"].map { try output($0 as? Fields ?? [:]) }
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
        emptyAnswer: said.text("empty_answer").flatMap {
            ["fail": EmptyAnswerPolicy.fail, "accept": .accept, "ask_again": .askAgain][$0]
        }
    )
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

/// The bytes that a `receive` brings.
private func body(_ step: Fields) throws -> Data {
    var text = ""
    for data in step.list("sse") { text += "data: \(try compact(data))\n\n" }
    for case let frame as Fields in step.list("frames") {
        for name in ["id", "event"] { if let value = frame.text(name) { text += "\(name): \(value)\n" } }
        text += "data: \(try compact(frame["data"] ?? ""))\n\n"
    }
    for line in step.list("lines") { text += "\(try compact(line))\n" }
    return Data((text + (step.text("text") ?? "")).utf8)
}

/// `maxToolRounds` is `max_tool_rounds`.
func snake(_ name: String) -> String {
    name.reduce(into: "") { text, letter in
        if letter.isUppercase { text.append("_") }
        text.append(letter.lowercased())
    }
}

/// The name of an enum's case.
func name(_ value: Any) -> String {
    snake(Mirror(reflecting: value).children.first?.label ?? "\(value)")
}

/// How a turn ended, in a line.
func line(_ outcome: Outcome) -> String {
    switch outcome {
    case .incomplete(let it): "incomplete \(name(it.reason)): \(it.message)"
    case .limitReached(let it): "limit_reached \(name(it.limit)): \(it.message)"
    case .failed(let it): "failed \(name(it.failure)): \(it.message)"
    default: name(outcome)
    }
}

private struct Line {
    let kind: String
    /// Pieces of one thing that follow each other are one, however the bytes were cut.
    let grows: String?
    var detail: String
}

private func line(_ event: Event) -> Line {
    func said(_ detail: String, grows: String? = nil) -> Line {
        Line(kind: name(event), grows: grows, detail: detail)
    }
    switch event {
    case .textMessageContent(let it): return said(it.delta, grows: it.messageId)
    case .reasoningMessageContent(let it): return said(it.delta, grows: it.messageId)
    case .toolCallArgs(let it): return said(it.delta, grows: it.toolCallId)
    case .partialArguments(let it): return said("", grows: it.toolCallId)
    case .partialOutput(let it): return said("", grows: "\(it.hop)")
    case .hookRefused(let it): return said("\(it.hook) \(name(it.moment)), \(it.reason)")
    case .outputRefused(let it): return said("\(it.retriesLeft), \(it.reason)")
    case .toolCallStart(let it): return said(it.toolCallName)
    case .toolCallResult(let it): return said(it.content)
    case .stepStarted(let it): return said(it.stepName)
    case .stepFinished(let it): return said(it.stepName)
    case .custom(let it): return said(it.name)
    case .hopStarted(let it): return said("\(it.hop) \(it.runId)")
    case .toolCallUpdate(let it):
        let what =
            switch it.result {
            case .finished(let result): ": \(result.content)"
            case .failed(let failure): " (\(name(failure.kind))): \(failure.message)"
            case nil: ""
            }
        return said("\(it.call.hop):\(it.call.index) \(name(it.status))\(what)")
    case .retrying(let it): return said("\(it.attempt) in \(wholeMilliseconds(it.delay)) ms, \(it.reason)")
    case .interrupted(let it): return said(it.interrupts.map(\.id).joined(separator: " "))
    case .answerDropped(let it): return said(it.effect)
    case .warning(let it): return said(it.message)
    case .completed(let it): return said(line(it.outcome))
    case .unknownToolCall(let it): return said(it.toolCallId)
    case .steeringTaken(let it): return said("\(it.messageId) \(it.hop)")
    case .steeringRefused(let it): return said(name(it.reason))
    case .waitingForNetwork(let it): return said("\(wholeMilliseconds(it.upTo))")
    case .streamResumed(let it): return said("\(it.hop):\(it.attempt)")
    case .toolProgress(let it):
        let percent = it.fraction.map { " \(Int(($0 * 100).rounded())) %" } ?? ""
        return said("\(it.call.hop):\(it.call.index)" + percent + (it.message.map { " \($0)" } ?? ""))
    case .toolPartialResult(let it): return said("\(it.call.hop):\(it.call.index) \(it.content)")
    case .contextNearlyFull(let it): return said("\(it.tokens) of \(it.window)")
    case .contextTrimmed(let it):
        return said("\(it.tokens), without \(it.leftOut.joined(separator: " "))")
    default: return said("")
    }
}

private func lines(_ events: [Event]) -> [String] {
    var lines: [Line] = []
    for event in events {
        let next = line(event)
        if let last = lines.last, next.grows != nil, last.kind == next.kind, last.grows == next.grows {
            lines[lines.count - 1].detail += next.detail
        } else {
            lines.append(next)
        }
    }
    return lines.map { $0.detail.isEmpty ? $0.kind : "\($0.kind): \($0.detail)" }
}

private func fields(_ effect: Effect) throws -> Fields {
    func called(_ id: String, _ call: ToolInvocation) throws -> Fields {
        [
            "id": id, "tool_call_id": call.toolCallId, "name": call.name,
            "arguments": try parsed(call.arguments.text), "raw_arguments": call.rawArguments,
        ]
    }
    var fields: Fields
    switch effect {
    case .createRun(let it):
        fields = ["id": it.id, "thread_id": it.threadId]
        fields["parent_run_id"] = it.parentRunId
    case .openStream(let it):
        let request = it.request
        let headers = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
        let body = try parsed(String(decoding: request.body, as: UTF8.self))
        fields = ["id": it.id, "method": request.method, "url": request.url, "headers": headers, "body": body]
    case .closeStream(let it): fields = ["id": it.id]
    case .cancelTool(let it): fields = ["id": it.id]
    case .askApproval(let it): fields = try called(it.id, it.invocation)
    case .runTool(let it):
        fields = try called(it.id, it.invocation)
        if it.invocation.attempt > 1 { fields["attempt"] = it.invocation.attempt }
    case .askUser(let it):
        fields = ["id": it.id, "tool_call_id": it.invocation.toolCallId, "message": it.question.message]
        fields["schema"] = try parsed(it.question.schema.text)
    case .answerTool(let it):
        fields = ["id": it.id]
        switch it.answer {
        case .given(let value): fields["value"] = try parsed(value.text)
        case .declined(let reason): fields["reason"] = reason
        }
    case .persist(let it):
        let blocks: [Fields] = try it.blocks.map {
            ["sequence": $0.sequence, "hop": $0.hop, "content": try parsed($0.content.text)]
        }
        fields = ["id": it.id, "turn": it.turn, "status": name(it.status), "blocks": blocks]
        fields["outcome"] = it.outcome.map { line($0) }
    case .decodeOutput(let it): fields = ["id": it.id, "value": try parsed(it.value.text)]
    case .trimContext(let it):
        let messages: [Fields] = it.messages.map { ["message_id": $0.messageId, "tokens": $0.tokens] }
        fields = ["id": it.id, "tokens": it.tokens, "window": it.window, "messages": messages]
    case .authorize(let it): fields = ["id": it.id, "rejected": it.rejected]
    case .runHook(let it):
        switch it.subject {
        case .hookedRequest(let request):
            fields = ["messages": try parsed(request.messages.text)]
            fields["instructions"] = request.instructions
        case .hookedAnswer(let answer): fields = ["text": answer.text]
        case .hookedCall(let call):
            fields = ["name": call.invocation.name, "arguments": try parsed(call.invocation.arguments.text)]
        case .hookedResult(let result):
            fields = [
                "name": result.invocation.name, "content": try parsed(result.content.text),
                "is_error": result.isError,
            ]
        }
        fields["id"] = it.id
        fields["hook"] = it.hook
    }
    fields["effect"] = name(effect)
    return fields
}

/// The runs of a scenario, and what is stored of them.
final class ScenarioHost {
    let config: RunConfig
    var runs: [String: RunMachine]
    var written: [String: String] = [:]
    var now = Date(timeIntervalSince1970: 0)

    init(_ scenario: Fields) throws {
        config = try StepwellTests.config(scenario.part("config"))
        let history = try compact(scenario.list("history"))
        runs = ["run": try RunMachine(config: config, threadId: "thread-1", history: JsonValue(text: history))]
    }

    func run(_ name: String = "run") throws -> RunMachine {
        guard let machine = runs[name] else { throw Unplayable(description: "no run \(name)") }
        return machine
    }

    /// How each run stands.
    func digests() -> [String: String?] {
        runs.mapValues { $0.digest() }
    }

    /// Takes one step: what came of it.
    func step(_ step: Fields) throws -> Fields {
        now = step.number("at").map { Date(timeIntervalSince1970: Double($0) / 1000) } ?? now
        let name = step.text("run") ?? "run"
        var came: [Outputs] = []
        var gives: Fields = [:]
        do {
            try play(name, step, &came)
        } catch StepwellError.Misuse(let reason, _) {
            gives["error"] = reason
        } catch StepwellError.InvalidArgument(let reason, _) {
            gives["error"] = reason
        }
        let machine = try run(name)
        came.append(try machine.pollOutputs())
        for case .persist(let write) in came.flatMap(\.effects) {
            written["\(name) \(write.id)"] = write.snapshot
        }
        gives["state"] = StepwellTests.name(machine.state())
        gives["wake_at"] = machine.pollTimeout().map { wholeMilliseconds($0) }
        gives["output"] = try machine.output().map { try parsed($0.text) }
        let effects = try came.flatMap(\.effects).map(fields)
        if !effects.isEmpty { gives["effects"] = effects }
        let events = lines(came.flatMap(\.events))
        if !events.isEmpty { gives["events"] = events }
        return gives
    }

    private func play(_ name: String, _ step: Fields, _ came: inout [Outputs]) throws {
        switch step.text("input") {
        case "new_run":
            let history = try step.text("history_of").map { try run($0).messages() }
            let thread = step.text("thread_id") ?? "thread-1"
            runs[name] = try RunMachine(config: config, threadId: thread, history: history)
        case "restore":
            runs[name] = try RunMachine.restore(snapshot: run(name).snapshot(), config: config)
        case "revive":
            let snapshot = try step.text("written").flatMap { written["\(name) \($0)"] } ?? run(name).snapshot()
            runs[name] = try RunMachine.revive(snapshot: snapshot, config: config, now: now)
        case "receive":
            let bytes = try body(step)
            let cut = step.small("cut").map(Int.init) ?? max(bytes.count, 1)
            for at in stride(from: 0, to: bytes.count, by: cut) {
                if step.flag("restore_between"), isThorough || at / cut % share == 0 {
                    runs = try runs.mapValues { try RunMachine.restore(snapshot: $0.snapshot(), config: config) }
                }
                let piece = Data(bytes[at..<min(at + cut, bytes.count)])
                came.append(try run(name).receive(effect: step.needed("effect"), bytes: piece, now: now))
            }
        default:
            came.append(try input(try run(name), step))
        }
    }

    private func answers(_ step: Fields) throws -> [ResumeEntry] {
        try step.list("answers").map { answer in
            let answer = answer as? Fields ?? [:]
            return ResumeEntry(
                interruptId: try answer.needed("interruptId"),
                status: answer.text("status") == "resolved" ? .resolved : .cancelled,
                payload: try answer.json("payload"))
        }
    }

    private func input(_ machine: RunMachine, _ step: Fields) throws -> Outputs {
        func effect() throws -> String { try step.needed("effect") }
        func message() throws -> String { try step.needed("message") }
        switch try step.needed("input") {
        case "start":
            let start = Start(
                runId: try step.needed("run_id"), parentRunId: step.text("parent_run_id"), text: step.text("say"),
                message: try step.json("message"), resume: try answers(step), options: try options(step.part("options")))
            return try machine.start(start: start, now: now)
        case "run_created":
            return try machine.runCreated(effect: effect(), runId: step.needed("run_id"), now: now)
        case "run_not_created": return try machine.runNotCreated(effect: effect(), message: message(), now: now)
        case "opened":
            return try machine.opened(effect: effect(), contentType: step.text("content_type"), now: now)
        case "refused":
            return try machine.refused(
                effect: effect(), status: UInt16(step.small("status") ?? 0),
                body: Data(compact(step["body"] ?? "").utf8), now: now, retryAfter: step.time("retry_after_ms", nil))
        case "connection_failed":
            return try machine.connectionFailed(effect: effect(), message: message(), now: now)
        case "ended": return try machine.ended(effect: effect(), now: now)
        case "lost": return try machine.lost(effect: effect(), message: message(), now: now)
        case "tool_finished":
            return try machine.toolFinished(effect: effect(), content: step.needed("content"), now: now)
        case "tool_failed": return try machine.toolFailed(effect: effect(), message: message(), now: now)
        case "tool_deferred": return try machine.toolDeferred(effect: effect(), now: now)
        case "tool_progress":
            return try machine.toolProgress(
                effect: effect(), fraction: step.double("fraction"), message: step.text("message"), now: now)
        case "tool_partial_result":
            return try machine.toolPartialResult(effect: effect(), content: step.needed("content"), now: now)
        case "tool_asks":
            let question = Question(message: try message(), schema: try step.json("schema")!)
            return try machine.toolAsks(
                effect: effect(), number: step.small("number") ?? 0, question: question, now: now)
        case "answer": return try machine.answer(effect: effect(), value: try step.json("value")!, now: now)
        case "decline": return try machine.decline(effect: effect(), reason: step.text("reason"), now: now)
        case "approve":
            return try machine.approve(
                effect: effect(), now: now, arguments: try step.json("arguments"))
        case "deny": return try machine.deny(effect: effect(), reason: step.text("reason"), now: now)
        case "context_trimmed":
            let keep = step.list("keep").compactMap { $0 as? String }
            return try machine.contextTrimmed(
                effect: effect(), keep: keep, now: now, summary: step.text("summary"))
        case "context_not_trimmed":
            return try machine.contextNotTrimmed(effect: effect(), message: message(), now: now)
        case "output_decoded": return try machine.outputDecoded(effect: effect(), now: now)
        case "output_refused":
            return try machine.outputRefused(effect: effect(), reason: step.needed("reason"), now: now)
        case "authorized":
            return try machine.authorized(
                effect: effect(), key: step.text("key"), now: now, headers: texts(step.part("headers")))
        case "not_authorized": return try machine.notAuthorized(effect: effect(), message: message(), now: now)
        case "hook_answered":
            return try machine.hookAnswered(effect: effect(), answer: hookAnswer(step), now: now)
        case "persisted": return try machine.persisted(effect: effect(), now: now)
        case "persist_failed": return try machine.persistFailed(effect: effect(), message: message(), now: now)
        case "resume": return try machine.resume(answers: answers(step), now: now)
        case "cancel": return try machine.cancel(now: now)
        case "cancel_call":
            let numbers = try step.needed("call").split(separator: ":").compactMap { UInt32($0) }
            return try machine.cancelCall(call: CallKey(hop: numbers[0], index: numbers[1]), now: now)
        case "steer":
            return try machine.steer(messageId: step.needed("message_id"), text: step.needed("say"), now: now)
        case "entered_background": return try machine.enteredBackground(now: now)
        case "entered_foreground": return try machine.enteredForeground(now: now)
        case "network_lost": return try machine.networkLost(now: now)
        case "network_available": return try machine.networkAvailable(now: now)
        case "dispose": return try machine.dispose(now: now)
        case "timeout": return try machine.timeout(now: now)
        case let other: throw Unplayable(description: "no input \(other)")
        }
    }

    /// The conversation in a line each: who, and what.
    func history() throws -> [String] {
        let messages = try parsed(run().messages().text) as? [Fields] ?? []
        return messages.flatMap { message -> [String] in
            let role = message.text("role") ?? ""
            let parts = message.list("content").map { part in
                let part = part as? Fields ?? [:]
                return part.text("text") ?? "[\(part.text("type") ?? "")]"
            }
            let content = message.text("content") ?? parts.joined(separator: " ")
            let said = content.isEmpty ? nil : "\(role): \(content)"
            let calls = message.list("toolCalls").map { call in
                let function = (call as? Fields ?? [:]).part("function")
                return "\(role) calls \(function.text("name") ?? "") \(function.text("arguments") ?? "")"
            }
            return (said.map { [$0] } ?? []) + calls
        }
    }
}
