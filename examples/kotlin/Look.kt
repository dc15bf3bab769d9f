package look

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val (picture, url) = arguments.first() to arguments.getOrNull(1)
    val agent = agent("openai", "gpt-4o-mini", baseUrl = url, key = System.getenv("OPENAI_API_KEY"))
    println(agent.sendAndWait("What is this?", image(picture)).text)
}
