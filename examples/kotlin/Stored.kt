// A conversation in the app's own database: with the key in OPENAI_API_KEY, or with a base URL as the argument.
package stored

import dev.stepwell.ThreadQuery
import dev.stepwell.agent
import dev.stepwell.sendAndWait
import dev.stepwell.sessionStore
import kotlinx.coroutines.runBlocking
import ownstore.OwnStore

fun main(arguments: Array<String>) = runBlocking {
    val key = System.getenv("OPENAI_API_KEY")
    val database = sessionStore(OwnStore())
    val agent = agent("openai", "gpt-4o-mini", baseUrl = arguments.firstOrNull(), key = key) {
        threadId = "diary"
        store(database)
    }
    // What a process that was killed has left.
    for (recovered in agent.recover()) recovered.turn?.use { it.finish() }
    println(agent.sendAndWait("What have I said so far?").text)
    for (thread in database.threads(ThreadQuery())) println("${thread.title} ${database.turns(thread.key).size}")
}
