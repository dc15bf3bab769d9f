// What an app does, for R8 to shrink: all of it must still work by the rules that the package brings.
package shrunk

import dev.stepwell.Agent
import dev.stepwell.Decision
import dev.stepwell.Model
import dev.stepwell.RunConfig
import dev.stepwell.RunMachine
import dev.stepwell.Start
import dev.stepwell.StepwellException
import dev.stepwell.start
import dev.stepwell.typedTool
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

@Serializable
class Person(val name: String)

@Serializable
class Trip(val city: String, val days: Int)

fun main(arguments: Array<String>) = runBlocking {
    val agent = Agent(Model.openaiCompatible("mock", arguments.single())) {
        typedTool("get_secret_number", "The secret number of a person.") { person: Person -> if (person.name == "alice") 42 else 7 }
        approver { Decision.Granted }
        tool("ask", "Asks first.") { requiresApproval = true; run { "allowed" } }
    }
    println(agent.run("Numbers?").text)
    val trip = agent.run<Trip>("Where to?").output
    println("${trip.days} days in ${trip.city}")
    try {
        agent.conversation().use { it.send("And now?") }
    } catch (wrong: StepwellException.Authentication) {
        println(wrong.problem.kind)
    }
    RunMachine(RunConfig("openai-compatible", "mock", baseUrl = arguments.single()), "thread").use { machine ->
        println(machine.start(Start("run", "Hi")).effects.size)
        println(machine.snapshot().isNotEmpty())
    }
}
