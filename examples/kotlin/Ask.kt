package ask

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val (url, key) = arguments.firstOrNull() to System.getenv("OPENAI_API_KEY")
    val agent = Agent(Model.openai("gpt-5-mini", key, url)) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> if (call.string("name").lowercase() == "alice") 42 else 7 }
        }
    }
    println(agent.run("What are Alice's and Bob's secret numbers?").text)
}
