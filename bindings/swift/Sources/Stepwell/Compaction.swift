import StepwellBindings

extension CompactionPolicy {
    /// Has this model write the summaries, which are the last way if they are none yet.
    mutating func summarize(by model: FallbackModel) {
        for (number, way) in ways.enumerated() {
            if case .summary(_, let instructions, let keep) = way {
                ways[number] = .summary(model: model, instructions: instructions, keep: keep)
                return
            }
        }
        ways.append(.summary(model: model))
    }
}
