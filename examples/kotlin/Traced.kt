// A turn in traces: each span is printed when it is over. A tracer of the app's own takes them in the same way.
package traced

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

class Printer : SpanSink {
    override fun span(span: FinishedSpan) = println("${span.name} ${span.attributes}")
    override fun parent(): SpanParent? = null
}

fun main(arguments: Array<String>) = runBlocking {
    traceTo(Printer())
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = arguments.firstOrNull())) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> if (call.string("name").lowercase() == "alice") 42 else 7 }
        }
    }
    println(agent.run("What are Alice's and Bob's secret numbers?").text)
    shutdown()
}
