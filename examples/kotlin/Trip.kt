package trip

import dev.stepwell.*
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

@Serializable
class Trip(val city: String, @Description("At least one.") val days: UInt)

fun main(arguments: Array<String>) = runBlocking {
    val (url, key) = arguments.firstOrNull() to System.getenv("OPENAI_API_KEY")
    val agent = agent("openai", "gpt-4o-mini", baseUrl = url, key = key)
    val trip = agent.run<Trip>("Three days in Norway: where?")
    println("${trip.days} days in ${trip.city}")
}
