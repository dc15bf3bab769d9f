import Foundation
import StepwellBindings

/// A scenario that was played.
public struct Played: Sendable {
    /// The scenario with the outputs of each step (`gives`), how its runs ended (`digests`), and what a chat screen shows of them
    /// (`chats`), as JSON.
    public let scenario: Data
    /// The differences from the scenario's `gives`, `digests`, `chats` and `expect`; empty if there are none.
    public let unmet: [String]
}

/// A scenario that is not of the form.
public struct InvalidScenario: Error, CustomStringConvertible {
    /// What is wrong, and where.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Plays a scenario file from its beginning to its end, without network and clock.
///
/// `tests/scenarios/README.md` of Stepwell's repository has its form. A step without `gives` is only played, and digests
/// are compared if there are any.
///
/// - Parameters:
///   - scenario: The file, in JSON.
///   - restoreEvery: The number of pieces of a stream from one restore to the next, in a step with `restore_between`.
/// - Throws: `InvalidScenario` if the scenario is not of the form, the error of `JSONSerialization` if it is no JSON, and
///   `StepwellError` if the run cannot be set up.
public func play(_ scenario: Data, restoreEvery: Int = 1) throws -> Played {
    guard restoreEvery > 0 else { throw InvalidScenario("`restoreEvery` is \(restoreEvery): give 1 or more") }
    guard let file = try JSONSerialization.jsonObject(with: scenario) as? Fields else {
        throw InvalidScenario("the scenario is no JSON object")
    }
    let host = try ScenarioHost(file, restoreEvery: restoreEvery)
    var played = file
    played["steps"] = try file.list("steps").map { step in
        guard var step = step as? Fields else { throw InvalidScenario("a step is no JSON object: \(step)") }
        step["gives"] = try host.step(step)
        return step
    }
    played["digests"] = host.digests()
    played["chats"] = try host.chats()
    let unmet = try differences(file, played) + unexpected(played, host)
    return Played(scenario: Data(try json(played).utf8), unmet: unmet)
}
