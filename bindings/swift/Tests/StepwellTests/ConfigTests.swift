import Testing

@testable import Stepwell

private func config() -> RunConfig {
    RunConfig(provider: "openai-compatible", model: "mock", baseUrl: "http://localhost/v1")
}

@Test("what is left out is the default, and nil is none")
func absentAndNone() throws {
    func wakes(_ change: (inout RunConfig) -> Void) throws -> UInt64? {
        var config = config()
        change(&config)
        let machine = try RunMachine(config: config, threadId: "thread")
        return try machine.start(start: Start(runId: "run", text: "Hi"), nowMs: 1000).wakeAtMs
    }
    #expect(try wakes { _ in } == 121_000)
    #expect(try wakes { $0.timeouts = Timeouts(silenceMs: nil) } == nil)
    #expect(try wakes { $0.timeouts.silenceMs = nil } == nil)

    func withoutNetwork(_ device: DevicePolicy) throws -> StateKind {
        var config = config()
        config.device = device
        let machine = try RunMachine(config: config, threadId: "thread")
        let outputs = try machine.start(start: Start(runId: "run", text: "Hi"), nowMs: 1000)
        guard case .openStream(let id, _) = outputs.effects.first else { throw Unplayable(description: "no request") }
        _ = try machine.networkLost(nowMs: 1000)
        _ = try machine.connectionFailed(effect: id, message: "no route to host", nowMs: 1000)
        return machine.state()
    }
    #expect(try withoutNetwork(DevicePolicy()) == .waiting)
    #expect(try withoutNetwork(DevicePolicy(offlineMs: nil)) == .completed)
    #expect(RepeatLimit().tellAfter == 3 && RepeatLimit(tellAfter: nil).tellAfter == nil)
}
