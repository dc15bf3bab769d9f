// The parts of an agent that the package's bridges to other frameworks use.
import StepwellBindings

extension AgentWith {
    /// Identifies the definition: copies of an agent have the same.
    package var identity: ObjectIdentifier { ObjectIdentifier(engine) }
}

extension AgentWith where Deps == Void {
    /// Begins a turn that continues messages in AG-UI's form, whose last one the model answers. The turn is kept in no store.
    /// With an `output` the result's output is JSON of that type.
    package func turn(continuing messages: JsonValue, output: OutputType?, options: RunOptions) -> Turn<String> {
        let caller = Caller(deps: ())
        let answer = Answer<String>(
            of: { agent in try output.map { try agent.withOutput(output: $0) } ?? agent },
            read: { finished, text in output == nil ? text : finished.output?.text ?? "" })
        return Turn(engine, answer, caller: caller) {
            try answer.of(engine.agent()).within(caller: caller.id).start(
                start: Start(runId: randomId(), options: options.made), tools: ToolList(options.tools).made(),
                history: messages, isAnswerable: false)
        }
    }
}
