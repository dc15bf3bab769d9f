package ask

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = arguments.firstOrNull())) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> if (call.string("name").lowercase() == "alice") 42 else 7 }
        }
    }
    println(agent.run("What are Alice's and Bob's secret numbers?").text)
}
