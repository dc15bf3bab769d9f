import Foundation
import Testing

@testable import Stepwell
import StepwellMachine

private let second = Date(timeIntervalSince1970: 1)

private func config() -> RunConfig {
    RunConfig(provider: "openai-compatible", model: "mock", baseUrl: "http://localhost/v1")
}

@Test("what is left out is the default, and nil is none")
func absentAndNone() throws {
    func wakes(_ change: (inout RunConfig) -> Void) throws -> Date? {
        var config = config()
        change(&config)
        let machine = try RunMachine(config: config, threadId: "thread")
        return try machine.start(start: Start(runId: "run", text: "Hi"), now: second).wakeAt
    }
    #expect(try wakes { _ in } == Date(timeIntervalSince1970: 121))
    #expect(try wakes { $0.timeouts = Timeouts(silence: nil) } == nil)
    #expect(try wakes { $0.timeouts.silence = nil } == nil)

    func withoutNetwork(_ device: DevicePolicy) throws -> StateKind {
        var config = config()
        config.device = device
        let machine = try RunMachine(config: config, threadId: "thread")
        let outputs = try machine.start(start: Start(runId: "run", text: "Hi"), now: second)
        guard case .openStream(let opening) = outputs.effects.first else { throw TestFault(description: "no request") }
        _ = try machine.networkLost(now: second)
        _ = try machine.connectionFailed(effect: opening.id, message: "no route to host", now: second)
        return machine.state()
    }
    #expect(try withoutNetwork(DevicePolicy()) == .waiting)
    #expect(try withoutNetwork(DevicePolicy(offline: nil)) == .completed)
    #expect(RepeatLimit().tellAfter == 3 && RepeatLimit(tellAfter: nil).tellAfter == nil)
}
