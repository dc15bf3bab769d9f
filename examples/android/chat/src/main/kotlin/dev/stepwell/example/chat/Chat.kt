package dev.stepwell.example.chat

import dev.stepwell.Durability
import dev.stepwell.RunConfig
import dev.stepwell.RunMachine
import dev.stepwell.Start
import dev.stepwell.StepwellException
import dev.stepwell.ToolInvocation
import dev.stepwell.cancel
import dev.stepwell.start
import java.io.IOException
import java.util.UUID
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.launch
import okhttp3.OkHttpClient

/**
 * A conversation that survives its process: after each finished piece of a turn the run's snapshot is stored, and the
 * next process goes on from there. Its functions are for one thread, that of the screen.
 */
class Chat(
    private val scope: CoroutineScope,
    config: RunConfig,
    private val client: OkHttpClient,
    private val tools: Map<String, ToolCode>,
    private val store: SnapshotStore,
) {
    private val config = config.copy(durability = Durability.Blocks(attempts = 3u))
    private val states = MutableStateFlow(ChatState(running = true))
    private var machine: RunMachine? = null
    private var driver: TurnDriver? = null
    private var answer = CompletableDeferred<Boolean>()

    /** What is on the screen. It says `running` until [restore] is through. */
    val state: StateFlow<ChatState> = states.asStateFlow()

    /** Takes up what the process before left, also in the middle of a turn. Once, before anything else. */
    fun restore(): Job = scope.launch {
        try {
            val snapshot = store.read()
            val now = System.currentTimeMillis().toULong()
            machine = snapshot?.let { RunMachine.revive(it, config, now) }
        } catch (old: StepwellException.Snapshot) {
            store.setAside()
            states.value = ChatState(problem = old.reason)
            return@launch
        } catch (error: IOException) {
            states.value = ChatState(problem = "The conversation cannot be read: ${error.message}")
            return@launch
        }
        val revived = machine
        if (revived == null) {
            states.value = ChatState()
        } else {
            states.value = ChatState.of(revived.messagesJson()).copy(running = true)
            drive(revived) { pollOutputs() }
        }
    }

    /** Says something to the model, once the turn before is over. */
    fun send(text: String) {
        if (text.isBlank() || state.value.running) return
        val before = machine
        val history = before?.messagesJson() ?: "[]"
        val next = RunMachine(config, "chat", history)
        before?.close()
        machine = next
        val id = UUID.randomUUID().toString()
        states.update { it.copy(items = it.items + ChatItem.Person(id, text), running = true, problem = null) }
        scope.launch { drive(next) { start(Start(runId = id, text = text)) } }
    }

    /** Stops the turn under way. */
    fun stop() {
        val driver = driver ?: return
        scope.launch { driver.tell { cancel() } }
    }

    /** Answers [ChatState.asking]. */
    fun answer(granted: Boolean) {
        answer.complete(granted)
    }

    private suspend fun drive(machine: RunMachine, begin: Input) {
        states.update { it.copy(running = true) }
        val driver = TurnDriver(machine, client, tools, store, ::ask)
        this.driver = driver
        try {
            driver.drive(begin).collect { event -> states.update { it.after(event) } }
        } catch (error: IOException) {
            states.update { it.copy(problem = "The conversation cannot be stored: ${error.message}") }
        } finally {
            this.driver = null
            states.update { it.copy(running = false, asking = null) }
        }
    }

    private suspend fun ask(invocation: ToolInvocation): Boolean {
        answer = CompletableDeferred()
        states.update { it.copy(asking = invocation) }
        return try {
            answer.await()
        } finally {
            states.update { it.copy(asking = null) }
        }
    }
}
