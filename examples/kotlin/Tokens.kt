package tokens

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

/** Stands for the app's own way to a token: from its cache, or anew. */
suspend fun token(anew: Boolean): String = if (anew) "new" else "old"

fun main(arguments: Array<String>) = runBlocking {
    val agent = agent("openai", "gpt-4o-mini", baseUrl = arguments.firstOrNull()) {
        instructions = "Answer in full sentences."
        credentials { request -> Authorization(token(request.rejected)) }
    }
    val options = TurnOptions(instructions = "Answer in one word.", user = "user-7")
    println(agent.sendAndWait("What is the capital of Norway?", options = options).text)
}
