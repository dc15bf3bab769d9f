import Foundation
import StepwellBindings

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

private func hookAnswer(_ step: Fields) throws -> HookAnswer {
    switch try step.needed("says") {
    case "go_on": .goOn
    case "change_request": .changeRequest(.init(instructions: step.text("instructions"), messages: try step.json("messages")))
    case "change_arguments": .changeArguments(.init(arguments: try step.json("arguments") ?? JsonValue(parsing: "null")))
    case "change_result": .changeResult(.init(content: try step.json("content") ?? JsonValue(parsing: "null")))
    case "refused": .refused(.init(reason: try step.needed("reason")))
    case "failed": .failed(.init(message: try step.needed("message")))
    case let says: throw InvalidScenario("no hook says \(says)")
    }
}

/// The runs of a scenario, and their stored data.
final class ScenarioHost {
    let config: RunConfig
    var runs: [String: RunMachine]
    var written: [String: String] = [:]
    var now = Date(timeIntervalSince1970: 0)
    private let restoreEvery: Int
    private let screens = ScenarioScreens()

    init(_ scenario: Fields, restoreEvery: Int) throws {
        self.restoreEvery = restoreEvery
        config = try StepwellTesting.config(scenario.part("config"))
        let history = try compact(scenario.list("history"))
        let messages = try JsonValue(parsing: history)
        runs = ["run": try RunMachine(config: config, threadId: "thread-1", history: messages)]
        try screens.begin("run", messages)
    }

    func run(_ name: String = "run") throws -> RunMachine {
        guard let machine = runs[name] else { throw InvalidScenario("the scenario has no run `\(name)`: begin it by `new_run`") }
        return machine
    }

    /// The state of each run.
    func digests() -> [String: String] {
        runs.compactMapValues { $0.digest() }
    }

    /// What a chat screen shows of each run.
    func chats() throws -> Fields {
        var chats: Fields = [:]
        for (name, machine) in runs { chats[name] = try screens.shown(name, usage: machine.usage()) }
        return chats
    }

    /// Takes one step, and returns its results.
    func step(_ step: Fields) throws -> Fields {
        now = step.number("at").map { Date(timeIntervalSince1970: Double($0) / 1000) } ?? now
        let name = step.text("run") ?? "run"
        var came: [Outputs] = []
        var gives: Fields = [:]
        do {
            try play(name, step, &came)
        } catch let error as StepwellError where error.kind == .misuse {
            gives["error"] = error.message
        }
        let machine = try run(name)
        came.append(try machine.pollOutputs())
        try screens.take(name, came, now: now)
        for case .persist(let write) in came.flatMap(\.effects) {
            written["\(name) \(write.id)"] = try machine.snapshot()
        }
        gives["state"] = StepwellTesting.name(machine.state())
        gives["wake_at"] = machine.pollTimeout().map { milliseconds($0) }
        gives["output"] = try machine.output().map { try parsed($0.text) }
        let effects = try came.flatMap(\.effects).map(fields)
        if !effects.isEmpty { gives["effects"] = effects }
        let events = lines(came.flatMap(\.events))
        if !events.isEmpty { gives["events"] = events }
        return gives
    }

    private func written(_ name: String, _ effect: String) throws -> String {
        guard let snapshot = written["\(name) \(effect)"] else {
            throw InvalidScenario("the run `\(name)` has written no `\(effect)`")
        }
        return snapshot
    }

    private func play(_ name: String, _ step: Fields, _ came: inout [Outputs]) throws {
        switch step.text("input") {
        case "new_run":
            let history = try step.text("history_of").map { try run($0).messages() }
            let thread = step.text("thread_id") ?? "thread-1"
            runs[name] = try RunMachine(config: config, threadId: thread, history: history)
            try screens.begin(name, history ?? [])
        case "restore":
            runs[name] = try RunMachine.restore(snapshot: run(name).snapshot(), config: config)
        case "revive":
            let snapshot = try step.text("written").map { try written(name, $0) } ?? run(name).snapshot()
            runs[name] = try RunMachine.revive(snapshot: snapshot, config: config, now: now)
            try screens.resume(name)
        case "receive":
            let bytes = try body(step)
            let cut = step.small("cut").map(Int.init) ?? max(bytes.count, 1)
            for at in stride(from: 0, to: bytes.count, by: cut) {
                if step.flag("restore_between"), at / cut % restoreEvery == 0 {
                    runs = try runs.mapValues { try RunMachine.restore(snapshot: $0.snapshot(), config: config) }
                }
                let piece = Data(bytes[at..<min(at + cut, bytes.count)])
                came.append(try run(name).receive(effect: step.needed("effect"), bytes: piece, now: now))
            }
        default:
            came.append(try input(try run(name), step))
            try screens.act(name, step, now: now)
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
            let question = Question(message: try message(), schema: try step.neededJson("schema"))
            return try machine.toolAsks(
                effect: effect(), number: step.small("number") ?? 0, question: question, now: now)
        case "answer": return try machine.answer(effect: effect(), value: try step.neededJson("value"), now: now)
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
        case "model_resting":
            let until = Date(timeIntervalSince1970: (step.double("until_ms") ?? 0) / 1000)
            return try machine.modelResting(model: step.small("model") ?? 0, until: until, now: now)
        case "model_chosen":
            return try machine.modelChosen(effect: effect(), model: step.small("model") ?? 0, now: now)
        case "model_not_chosen":
            return try machine.modelNotChosen(effect: effect(), message: message(), now: now)
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
            guard numbers.count == 2 else { throw InvalidScenario("`call` is no `hop:index` in \(step)") }
            return try machine.cancelCall(call: CallKey(hop: numbers[0], index: numbers[1]), now: now)
        case "steer":
            return try machine.steer(messageId: step.needed("message_id"), text: step.needed("say"), now: now)
        case "entered_background": return try machine.enteredBackground(now: now)
        case "entered_foreground": return try machine.enteredForeground(now: now)
        case "network_lost": return try machine.networkLost(now: now)
        case "network_available": return try machine.networkAvailable(now: now)
        case "dispose": return try machine.dispose(now: now)
        case "timeout": return try machine.timeout(now: now)
        case let other: throw InvalidScenario("there is no input `\(other)`")
        }
    }
}
