// A question, two tool calls, an answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
package hello

import dev.stepwell.Agent
import dev.stepwell.Model
import dev.stepwell.string
import kotlinx.coroutines.runBlocking

val numbers = mapOf("alice" to 42, "bob" to 7)

fun main(arguments: Array<String>) = runBlocking {
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = arguments.firstOrNull())) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> numbers.getValue(call.string("name").lowercase()) }
        }
    }
    // What goes wrong, such as a wrong key, is a `StepwellException`.
    agent.stream("What are Alice's and Bob's secret numbers?").textStream.collect { print(it) }
    println()
}
