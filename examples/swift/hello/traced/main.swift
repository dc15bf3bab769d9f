// A turn in traces: each span is printed when it is over. A tracer of the app's own takes them in the same way.
import Stepwell

final class Printer: SpanSink {
    func span(span: FinishedSpan) { print(span.name, span.attributes) }
    func parent() -> SpanParent? { nil }
}
struct Person: Decodable { let name: String }
let secretNumber = try AgentTool("get_secret_number", "The secret number of a person.") { (person: Person) in
    person.name.lowercased() == "alice" ? 42 : 7
}
_ = traceTo(sink: Printer())
let model = Model.openAI("gpt-4o-mini", baseUrl: CommandLine.arguments.dropFirst().first)
let agent = Agent(model: model, tools: [secretNumber])
print(try await agent.run("What are Alice's and Bob's secret numbers?").text)
shutdown()
