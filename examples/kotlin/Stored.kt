// A conversation in the app's own database: with the key in OPENAI_API_KEY, or with a base URL as the argument.
package stored

import dev.stepwell.Agent
import dev.stepwell.Model
import dev.stepwell.ThreadQuery
import dev.stepwell.sessionStore
import kotlinx.coroutines.runBlocking
import ownstore.OwnStore

fun main(arguments: Array<String>) = runBlocking {
    val database = sessionStore(OwnStore())
    val agent = Agent(Model.openai("gpt-4o-mini", baseUrl = arguments.firstOrNull())) { store(database) }
    // What a process that was killed has left.
    agent.recover { turns -> turns.forEach { it.turn?.result() } }
    println(agent.conversation("diary").send("What have I said so far?").text)
    for (thread in database.threads(ThreadQuery())) println("${thread.title} ${database.turns(thread.key).size}")
}
