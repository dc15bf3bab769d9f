// A turn that may cost a cent, and what it has cost.
package budget

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = arguments.firstOrNull())) {
        limits { maxCost = 0.01 }
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> if (call.string("name").lowercase() == "alice") 42 else 7 }
        }
    }
    val result = agent.run("What are Alice's and Bob's secret numbers?")
    println("${result.text} It cost %.7f US dollars".format(result.cost))
}
