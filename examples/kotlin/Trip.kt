package trip

import dev.stepwell.*
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

@Serializable
class Trip(val city: String, @Description("At least one.") val days: Int)

fun main(arguments: Array<String>) = runBlocking {
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = arguments.firstOrNull()))
    val trip = agent.run<Trip>("Three days in Norway: where?").output
    println("${trip.days} days in ${trip.city}")
}
