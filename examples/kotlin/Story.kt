package story

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val agent = Agent(Model.openai("gpt-5", baseUrl = arguments.firstOrNull(), background = true))
    println(agent.run("Write a long story about otters in space.").text)
}
