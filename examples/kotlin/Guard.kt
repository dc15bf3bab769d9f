package guard

import dev.stepwell.*
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>) = runBlocking {
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = arguments.firstOrNull())) {
        tool("get_secret_number", "The secret number of a person.") {
            string("name")
            run { call -> if (call.string("name").lowercase() == "alice") 42 else 7 }
        }
        hook("guard") {
            beforeTool { call -> if (call.string("name").lowercase() == "bob") refuse("Bob's is his own") else null }
            afterAnswer { answer -> if ("42" in answer.text) refuse("it tells the number") }
        }
    }
    try {
        println(agent.run("What are Alice's and Bob's secret numbers?").text)
    } catch (refused: StepwellException.Refused) {
        println(refused.message)
    }
}
