package dev.stepwell.example.chat

import dev.stepwell.Agent
import dev.stepwell.ChatPart
import dev.stepwell.ChatSession
import dev.stepwell.ChatState
import dev.stepwell.ChatStatus
import dev.stepwell.MockLlm
import dev.stepwell.SqliteStore
import dev.stepwell.ToolCallStatus
import dev.stepwell.integer
import dev.stepwell.isBusy
import java.io.File
import java.nio.file.Files
import kotlin.test.AfterTest
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertNotNull
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.filterNotNull
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.job
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test

/** All of the example but its Android shell: a process is a [CoroutineScope] here. */
class ChatTest {
    private val folder: File = Files.createTempDirectory("chat").toFile()

    @AfterTest
    fun clean() {
        folder.deleteRecursively()
    }

    /** The app in a process of its own. */
    @OptIn(ExperimentalCoroutinesApi::class)
    private inner class App(mock: MockLlm, path: String = "$folder/chat.db") {
        private val scope = CoroutineScope(Job() + Dispatchers.Default.limitedParallelism(1))
        val chat = Chat(scope) {
            val opened = SqliteStore.open(path)
            Agent(mock.model) {
                store(opened)
                retry { attempts = 1 }
                tool("pay", "Pays an amount.") {
                    integer("amount")
                    requiresApproval = true
                    idempotent = true
                    run { call -> "paid ${call.integer("amount")}" }
                }
            }
        }

        suspend fun session(): ChatSession = chat.session.filterNotNull().first()

        suspend fun until(wanted: (ChatState) -> Boolean): ChatState = session().state.first(wanted)

        suspend fun say(text: String): ChatState {
            session()
            chat.send(text).join()
            return until { !it.status.isBusy }
        }

        /** Ends the process: the turn is left to its store. */
        suspend fun die() {
            session().suspend()
            scope.coroutineContext.job.cancelAndJoin()
        }
    }

    private fun ChatState.texts() = messages.flatMap { it.parts }.filterIsInstance<ChatPart.Text>().map { it.text }

    private fun ChatState.cards() = messages.flatMap { it.parts }.filterIsInstance<ChatPart.Tool>().map { it.card }

    private fun play(vararg hops: String, test: suspend (MockLlm) -> Unit) = runBlocking {
        MockLlm(*hops).use { test(it) }
    }

    private val pays = MockLlm.call("pay", """{"amount":7}""")

    @Test
    fun theNextProcessHasTheConversation() = play(MockLlm.text("Hello"), MockLlm.text("Again")) { mock ->
        val first = App(mock)
        assertEquals(listOf("Hi", "Hello"), first.say("Hi").texts())
        first.die()
        val second = App(mock)
        assertEquals(listOf("Hi", "Hello"), second.until { it.messages.isNotEmpty() }.texts())
        assertEquals(listOf("Hi", "Hello", "Once more", "Again"), second.say("Once more").texts())
        assertEquals(0, mock.failures().size)
        second.die()
    }

    @Test
    fun anInterruptedAnswerContinuesInTheNextProcess() = play(MockLlm.stall("Well"), MockLlm.text("A whole answer")) { mock ->
        val first = App(mock)
        first.session()
        first.chat.send("Go")
        first.until { "Well" in it.texts() }
        first.die()
        val second = App(mock)
        assertContains(second.until { it.status == ChatStatus.READY && it.messages.size > 1 }.texts(), "A whole answer")
        assertEquals(2, mock.requests().size)
        second.die()
    }

    @Test
    fun anOpenApprovalIsAskedInTheNextProcess() = play(pays, MockLlm.text("Done")) { mock ->
        val first = App(mock)
        first.session()
        first.chat.send("Pay")
        first.until { it.pending.isNotEmpty() }
        first.die()
        val second = App(mock)
        val waiting = second.until { it.pending.isNotEmpty() && it.cards().isNotEmpty() }
        second.chat.approve(waiting.pending.single().id).join()
        val shown = second.until { !it.status.isBusy && "Done" in it.texts() }
        assertEquals(listOf("paid 7" to ToolCallStatus.COMPLETED), shown.cards().map { it.result to it.status })
        second.die()
    }

    @Test
    fun steersWithAMessageDuringATurn() = play(pays, MockLlm.text("Not then")) { mock ->
        val app = App(mock)
        app.session()
        val sending = app.chat.send("Pay")
        val waiting = app.until { it.pending.isNotEmpty() }
        app.chat.send("Better not").join()
        app.chat.deny(waiting.pending.single().id, "too dear").join()
        sending.join()
        assertEquals(listOf("Pay", "Better not", "Not then"), app.until { !it.status.isBusy }.texts())
        app.die()
    }

    @Test
    fun showsProblems() = play("""{"status":503,"error":"No"}""", MockLlm.text("Hello")) { mock ->
        val app = App(mock)
        assertNotNull(app.say("Hi").problem)
        app.chat.retry().join()
        assertEquals(listOf("Hi", "Hello"), app.until { it.problem == null && !it.status.isBusy }.texts())
        // No call waits under this id.
        app.chat.approve("unknown").join()
        assertNotNull(app.chat.problem.value)
        app.die()
        assertNotNull(App(mock, "$folder/none/chat.db").chat.problem.filterNotNull().first())
    }
}
