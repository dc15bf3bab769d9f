// What the guide shows beside its first program, to be compiled; the suite `docs` compares.
package guide

import dev.stepwell.Agent
import dev.stepwell.ChatSession
import dev.stepwell.CompactionWay
import dev.stepwell.Conversation
import dev.stepwell.Decision
import dev.stepwell.Description
import dev.stepwell.Model
import dev.stepwell.SqliteStore
import dev.stepwell.Trimmed
import dev.stepwell.Update
import dev.stepwell.UserAnswer
import dev.stepwell.askChoice
import dev.stepwell.newest
import dev.stepwell.string
import dev.stepwell.testing.play
import dev.stepwell.typedTool
import java.io.File
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlinx.coroutines.Dispatchers
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonPrimitive

@Serializable
@Description("A trip to book.")
class Trip(
    @Description("The city, in English.") val city: String,
    val days: Int = 1,
)

@Serializable
class Booking(val number: Int)

fun booking(book: (city: String, days: Int) -> Int): Agent = Agent("openai:gpt-4o-mini") {
    typedTool("book", "Books a trip.") { trip: Trip -> Booking(number = book(trip.city, trip.days)) }
}

fun asking(confirm: suspend (String) -> Boolean, send: suspend (String) -> String): Agent {
    val agent = Agent("openai:gpt-4o-mini") {
        approver { call -> if (confirm("Run ${call.name}?")) Decision.Granted else Decision.Denied("not now") }
        tool("send_mail", "Sends a mail.") { requiresApproval = true; string("to"); run { call -> send(call.string("to")) } }
    }
    return agent
}

suspend fun answering(agent: Agent, confirm: suspend (String) -> Boolean) {
    agent.conversation("order-7").use { conversation ->
        for (waiting in conversation.pending()) {
            if (confirm("Run ${waiting.tool}?")) conversation.approve(waiting.id) else conversation.deny(waiting.id, "not now")
        }
    }
}

suspend fun chatting(agent: Agent): ChatSession {
    val chat = ChatSession(agent.conversation("chat"))
    chat.load()
    agent.recover { turns -> turns.firstNotNullOfOrNull { it.turn }?.let { chat.follow(it) } }
    return chat
}

fun shipping(city: String, choose: suspend (String) -> String?): Agent {
    val agent = Agent("openai:gpt-4o-mini") {
        answerer { _, question ->
            val chosen = choose(question.message)
            if (chosen == null) UserAnswer.Declined("not now") else UserAnswer.Given(JsonPrimitive(chosen))
        }
        tool("ship", "Ships a parcel.") {
            string("parcel")
            run { call, context ->
                context.report(0.5, "${call.string("parcel")} is packed")
                "it leaves $city ${context.askChoice("How fast?", listOf("today", "this week")) ?: "later"}"
            }
        }
    }
    return agent
}

fun trimming(): Agent {
    val agent = Agent("openai:gpt-4o-mini") {
        limits { maxToolRounds = 5 }
        trimContext { overflow, _ -> Trimmed(overflow.newest(0.5)) }
    }
    return agent
}

fun compacting(): Agent {
    val agent = Agent("openai:gpt-5") {
        compaction { ways = listOf(CompactionWay.DropResults(keep = 5), CompactionWay.Summary()) }
        summaryModel(Model.openai("gpt-5-mini"))
    }
    return agent
}

suspend fun whole(conversation: Conversation) {
    val answer = conversation.send("Sure?") { wholeHistory = true }
    println(answer.text)
}

fun reading(log: (String, Throwable) -> Unit): Agent {
    val agent = Agent("openai:gpt-4o-mini") {
        context = Dispatchers.IO
        onError { error -> log("a tool failed", error) }
        tool("read_file", "Reads a file.") { string("path"); run { call -> File(call.string("path")).readText() } }
    }
    return agent
}

suspend fun recovering(show: (Update) -> Unit) {
    val opened = SqliteStore.open("app.db")
    val agent = Agent("openai:gpt-4o-mini") { store(opened) }
    agent.recover { turns ->
        for (turn in turns.mapNotNull { it.turn }) turn.updates.collect { show(it) }
    }
}

/** Not run: there is no such file. */
class LostConnection {
    @Test
    fun `a lost connection is opened again`() {
        assertEquals(emptyList(), play(File("lost.json").readText()).unmet)
    }
}
