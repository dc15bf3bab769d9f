import Foundation
import StepwellTesting
import Testing

/// The repository's `tests/scenarios`.
private let folder = URL(fileURLWithPath: #filePath)
    .appendingPathComponent("../../../../../tests/scenarios").standardized

private let files: [URL] = {
    let all = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    return (all ?? [])
        .filter { $0.pathExtension == "json" && $0.lastPathComponent != "schema.json" }
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
}()

/// Rust restores before each piece of a stream; these tests before so many, unless they are thorough.
private let restoreEvery = ProcessInfo.processInfo.environment["STEPWELL_THOROUGH"] == nil ? 13 : 1

@Test("there are at least sixty scenarios")
func thereAreAtLeastSixty() {
    #expect(files.count >= 60)
}

@Test("a scenario comes to the same effects and digests as in Rust", arguments: files)
func scenario(file: URL) throws {
    let unmet = try play(Data(contentsOf: file), restoreEvery: restoreEvery).unmet
    #expect(unmet.isEmpty, "\(file.lastPathComponent): \(unmet)")
}

@Test("a changed input changes the digest")
func aChangedInputChangesTheDigest() throws {
    let text = try String(contentsOf: try #require(files.first), encoding: .utf8)
    let changed = text.replacingOccurrences(of: "\"Hello", with: "\"Hallo")
    let unmet = try play(Data(changed.utf8)).unmet
    #expect(unmet.contains { $0.hasPrefix("the digests") })
    #expect(unmet.contains { $0.hasPrefix("step 3 (receive)") })
}

private func scenario(expecting expect: String) -> Data {
    let text = """
        {
            "config": {"provider": "openai-compatible", "model": "m", "base_url": "http://localhost/v1"},
            "steps": [
                {"input": "start", "run_id": "run-1", "say": "Hello"},
                {"input": "new_run", "run": "second"},
                {"input": "cancel"}
            ],
            "expect": \(expect)
        }
        """
    return Data(text.utf8)
}

@Test("what a scenario expects is met")
func whatIsExpectedIsMet() throws {
    let expect = """
        {
            "state": "completed", "outcome": "cancelled", "text": "", "history": ["user: Hello"],
            "others": {"second": {"outcome": null, "history": []}}, "tools_run": [],
            "requests": [{"method": "POST", "body": {"model": "m", "tools": null}}],
            "seen": ["completed: cancelled"]
        }
        """
    let played = try play(scenario(expecting: expect))
    #expect(played.unmet == [])
    #expect(try play(played.scenario).unmet == [])
}

@Test(
    "what a scenario expects is named if it is not met",
    arguments: [
        #""state": "idle""#, #""outcome": "success""#, #""text": "Hi""#, #""history": []"#,
        #""others": {"second": {"outcome": "success", "history": []}}"#, #""tools_run": ["tool"]"#,
        #""requests": [{"method": "GET"}]"#, #""seen": ["completed: cancelled", "completed: cancelled"]"#,
    ])
func whatIsExpectedIsNamed(expect: String) throws {
    #expect(try play(scenario(expecting: "{\(expect)}")).unmet.count == 1)
}

@Test("a scenario that is not of the form is refused")
func anUnknownExpectationIsRefused() {
    #expect(throws: InvalidScenario.self) { try play(scenario(expecting: #"{"outcom": "success"}"#)) }
}

private let lost = folder.appendingPathComponent("57-no-connection.json")

@Test func aLostConnectionIsOpenedAgain() throws {
    let scenario = try Data(contentsOf: lost)
    #expect(try play(scenario).unmet == [])
}
