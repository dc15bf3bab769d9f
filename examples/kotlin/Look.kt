package look

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val (picture, url) = arguments.first() to arguments.getOrNull(1)
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = url))
    println(agent.run("What is this?", image(picture)).text)
}
