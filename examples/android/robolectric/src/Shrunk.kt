// What an app does, for R8 to shrink: all of it must still work by the rules that the package brings.
package shrunk

import dev.stepwell.Decision
import dev.stepwell.RunConfig
import dev.stepwell.RunMachine
import dev.stepwell.Start
import dev.stepwell.TurnException
import dev.stepwell.agent
import dev.stepwell.run
import dev.stepwell.sendAndWait
import dev.stepwell.start
import dev.stepwell.typedTool
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

@Serializable
class Person(val name: String)

@Serializable
class Trip(val city: String, val days: Int)

fun main(arguments: Array<String>) = runBlocking {
    agent("openai-compatible", "mock", baseUrl = arguments.single()) {
        typedTool("get_secret_number", "The secret number of a person.") { person: Person -> if (person.name == "alice") 42 else 7 }
        approver { Decision.Granted }
        tool("ask", "Asks first.") { requiresApproval = true; run { "allowed" } }
    }.use { agent ->
        println(agent.sendAndWait("Numbers?").text)
        val trip = agent.run<Trip>("Where to?")
        println("${trip.days} days in ${trip.city}")
        try {
            agent.sendAndWait("And now?")
        } catch (wrong: TurnException.Authentication) {
            println(wrong.problem.kind)
        }
    }
    RunMachine(RunConfig("openai-compatible", "mock", baseUrl = arguments.single()), "thread").use { machine ->
        println(machine.start(Start("run", "Hi")).effects.size)
        println(machine.snapshot().isNotEmpty())
    }
}
