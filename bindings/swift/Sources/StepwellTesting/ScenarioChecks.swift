import Foundation
import StepwellBindings

/// The results that differ from the scenario's file.
func differences(_ file: Fields, _ played: Fields) throws -> [String] {
    var found: [String] = []
    func compare(_ what: String, _ expected: Any?, _ came: Any?) throws {
        // An empty object should be filled in.
        guard let expected, (expected as? Fields)?.isEmpty != true else { return }
        let came = came ?? NSNull()
        if try isSame(expected, came) { return }
        found.append("\(what): the file says \(try json(expected)), it came to \(try json(came))")
    }
    for (index, (step, came)) in zip(file.list("steps"), played.list("steps")).enumerated() {
        guard let step = step as? Fields, let came = came as? Fields else { continue }
        try compare("step \(index + 1) (\(step.text("input") ?? ""))", step["gives"], came["gives"])
    }
    try compare("the digests", file["digests"], played["digests"])
    try compare("the chats", file["chats"], played["chats"])
    return found
}

/// The author's expectations that the played scenario does not meet.
func unexpected(_ played: Fields, _ host: ScenarioHost) throws -> [String] {
    var found: [String] = []
    func compare(_ what: String, _ expected: Any, _ came: Any) throws {
        if try isSame(expected, came) { return }
        found.append("\(what) should be \(try json(expected)), it is \(try json(came))")
    }
    let gives = played.list("steps").map { ($0 as? Fields ?? [:]).part("gives") }
    func effects(_ kind: String) -> [Fields] {
        gives.flatMap { $0.list("effects") }.compactMap { $0 as? Fields }.filter { $0.text("effect") == kind }
    }
    let expect = played.part("expect")
    for (what, expected) in expect.sorted(by: { $0.key < $1.key }) {
        switch what {
        case "state": try compare(what, expected, name(host.run().state()))
        case "outcome": try compare(what, expected, outcome(host.run()))
        case "text": try compare(what, expected, host.run().text())
        case "history": try compare(what, expected, history(host.run()))
        case "others":
            for (name, other) in expect.part(what) {
                let machine = try host.run(name)
                let came: Fields = ["outcome": outcome(machine), "history": try history(machine)]
                try compare("`\(name)`", other, came)
            }
        case "tools_run": try compare(what, expected, effects("run_tool").map { try $0.needed("id") })
        case "requests":
            let sent = effects("open_stream")
            if try !holds(sent, expected) { try compare(what, expected, sent) }
        case "seen":
            let events = gives.flatMap { $0.list("events") }.compactMap { $0 as? String }
            var rest = events[...]
            for case let wanted as String in expect.list(what) {
                guard let at = rest.firstIndex(of: wanted) else {
                    found.append("`\(wanted)` is not seen, in this order: \(events)")
                    break
                }
                rest = rest[(at + 1)...]
            }
        default: throw InvalidScenario("there is no expectation `\(what)`")
        }
    }
    return found
}

/// The part of the outcome before the sentence: `failed api`, `success`.
private func outcome(_ machine: RunMachine) -> Any {
    machine.outcome().flatMap { line($0).split(separator: ":").first.map(String.init) } ?? NSNull()
}

/// Whether a value has all that is expected: an object may have more fields, a list must be as long.
private func holds(_ value: Any, _ wanted: Any) throws -> Bool {
    switch (value, wanted) {
    case (let value as Fields, let wanted as Fields):
        try wanted.allSatisfy { name, field in try holds(value[name] ?? NSNull(), field) }
    case (let value as [Any], let wanted as [Any]):
        try value.count == wanted.count && zip(value, wanted).allSatisfy { try holds($0, $1) }
    default: try isSame(value, wanted)
    }
}

/// The conversation in a line each: the role, and the content.
private func history(_ machine: RunMachine) throws -> [String] {
    let messages = try parsed(machine.messages().text) as? [Fields] ?? []
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
