// A question, two tool calls, an answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
package hello

import dev.stepwell.Event
import dev.stepwell.agent
import dev.stepwell.problem
import dev.stepwell.send
import dev.stepwell.string
import kotlinx.coroutines.runBlocking

val numbers = mapOf("alice" to 42, "bob" to 7)

fun main(arguments: Array<String>) = runBlocking {
    val key = System.getenv("OPENAI_API_KEY")
    val agent = agent("openai", "gpt-4o-mini", baseUrl = arguments.firstOrNull(), key = key) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> numbers.getValue(call.string("name").lowercase()) }
        }
    }
    agent.send("What are Alice's and Bob's secret numbers?").collect { event ->
        if (event is Event.TextMessageContent) print(event.delta)
        // A wrong key, say, is told with the last event.
        if (event is Event.Completed) event.outcome.problem?.let { error("${it.message}; ${it.advice}") }
    }
    println()
}
