// A turn in traces: each span is printed when it is over. A tracer of the app's own takes them in the same way.
import Foundation
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
let (url, key) = (CommandLine.arguments.dropFirst().first, ProcessInfo.processInfo.environment["OPENAI_API_KEY"])
let agent = try Agent(provider: "openai", model: "gpt-4o-mini", baseUrl: url, key: key, tools: [secretNumber])
print(try await agent.sendAndWait("What are Alice's and Bob's secret numbers?").text)
shutdown()
