import Foundation
import Testing

@testable import Stepwell

/// The repository's `tests/scenarios`.
private let folder = URL(fileURLWithPath: #filePath)
    .appendingPathComponent("../../../../../tests/scenarios").standardized

private let files: [URL] = {
    let all = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    return (all ?? [])
        .filter { $0.pathExtension == "json" && $0.lastPathComponent != "schema.json" }
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
}()

private func load(_ text: String) throws -> Fields {
    try parsed(text) as? Fields ?? [:]
}

private func isSame(_ one: Any, _ other: Any) -> Bool {
    NSDictionary(dictionary: ["": one]).isEqual(to: ["": other])
}

private func differences(_ scenario: Fields) throws -> [String] {
    let host = try ScenarioHost(scenario)
    var wrong: [String] = []
    for (index, step) in scenario.list("steps").enumerated() {
        let step = step as? Fields ?? [:]
        let gives = try host.step(step)
        if !isSame(gives, step.part("gives")) { wrong.append("step \(index + 1) came to \(gives)") }
    }
    let digests = host.digests().compactMapValues { $0 }
    if !isSame(digests, scenario.part("digests")) { wrong.append("the digests are \(digests)") }
    let expect = scenario.part("expect")
    let history = try host.history()
    if history != expect.list("history") as? [String] { wrong.append("the history is \(history)") }
    let outcome = try host.run().outcome().map { line($0).split(separator: ":").first.map(String.init) ?? "" }
    if let expected = expect.text("outcome"), expected != outcome { wrong.append("it ended as \(outcome ?? "not")") }
    return wrong
}

@Test("there are at least sixty scenarios")
func thereAreAtLeastSixty() {
    #expect(files.count >= 60)
}

@Test("a scenario comes to the same effects and digests as in Rust", arguments: files)
func scenario(file: URL) throws {
    let wrong = try differences(load(String(contentsOf: file, encoding: .utf8)))
    #expect(wrong.isEmpty, "\(file.lastPathComponent): \(wrong)")
}

@Test("a changed input changes the digest")
func aChangedInputChangesTheDigest() throws {
    let text = try String(contentsOf: try #require(files.first), encoding: .utf8)
    let changed = try load(text.replacingOccurrences(of: "\"Hello", with: "\"Hallo"))
    #expect(try differences(changed).contains { $0.hasPrefix("the digests") })
}
