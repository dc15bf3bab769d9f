// A turn that may cost a cent, and what it has cost.
package budget

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val (url, key) = arguments.firstOrNull() to System.getenv("OPENAI_API_KEY")
    val agent = agent("openai", "gpt-4o-mini", baseUrl = url, key = key) {
        limits = Limits(maxCost = 0.01)
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> if (call.string("name").lowercase() == "alice") 42 else 7 }
        }
    }
    val finished = agent.sendAndWait("What are Alice's and Bob's secret numbers?")
    println("${finished.text} It cost %.7f US dollars".format(finished.usage.cost))
}
