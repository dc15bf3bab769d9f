import Foundation
import StepwellBindings

// The results of a scenario's steps, in the form of its file.

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
    /// Adjacent deltas of the same item are joined, however the bytes were cut.
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
    case .retrying(let it):
        return said("\(it.attempt) in \(milliseconds(it.delay)) ms, \(name(it.kind)): \(it.reason)")
    case .pending(let it): return said(it.pending.map(\.id).joined(separator: " "))
    case .interrupted(let it): return said(it.interrupts.map(\.id).joined(separator: " "))
    case .answerDropped(let it): return said(it.effect)
    case .warning(let it): return said(it.message)
    case .completed(let it): return said(line(it.outcome))
    case .unknownToolCall(let it): return said(it.toolCallId)
    case .steeringTaken(let it): return said("\(it.messageId) \(it.hop)")
    case .steeringRefused(let it): return said(name(it.reason))
    case .waitingForNetwork(let it): return said("\(milliseconds(it.upTo))")
    case .streamResumed(let it): return said("\(it.hop):\(it.attempt)")
    case .toolProgress(let it):
        let percent = it.fraction.map { " \(Int(($0 * 100).rounded())) %" } ?? ""
        return said("\(it.call.hop):\(it.call.index)" + percent + (it.message.map { " \($0)" } ?? ""))
    case .toolPartialResult(let it): return said("\(it.call.hop):\(it.call.index) \(it.content)")
    case .contextNearlyFull(let it): return said("\(it.tokens) of \(it.window)")
    case .modelChanged(let it):
        let after = it.after.map { " after \(name($0))" } ?? ""
        return said("\(it.previous.model) to \(it.model.model)\(after)")
    case .contextTrimmed(let it):
        return said("\(it.tokens), without \(it.leftOut.joined(separator: " "))")
    default: return said("")
    }
}

func lines(_ events: [Event]) -> [String] {
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

func fields(_ effect: Effect) throws -> Fields {
    func asked(_ id: String, _ request: HttpRequest) throws -> Fields {
        let headers = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
        var fields: Fields = ["id": id, "method": request.method, "url": request.url, "headers": headers]
        // A request about a stored answer has no body.
        if !request.body.isEmpty { fields["body"] = try parsed(String(decoding: request.body, as: UTF8.self)) }
        return fields
    }
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
        fields = try asked(it.id, it.request)
    case .cancelAnswer(let it):
        fields = try asked(it.id, it.request)
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
    case .chooseModel(let it):
        let models: [Fields] = it.context.models.map {
            ["name": ["provider": $0.name.provider, "model": $0.name.model], "is_resting": $0.isResting]
        }
        let context: Fields = [
            "hop": it.context.hop, "models": models, "current": it.context.current, "tools": it.context.tools,
            "tokens": it.context.tokens,
        ]
        fields = ["id": it.id, "context": context]
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
