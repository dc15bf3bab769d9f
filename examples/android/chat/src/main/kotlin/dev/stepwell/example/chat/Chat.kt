package dev.stepwell.example.chat

import dev.stepwell.RunConfig
import dev.stepwell.RunMachine
import dev.stepwell.Start
import dev.stepwell.StepwellException
import dev.stepwell.TextOptions
import dev.stepwell.cancel
import dev.stepwell.enteredBackground
import dev.stepwell.enteredForeground
import dev.stepwell.networkAvailable
import dev.stepwell.networkLost
import dev.stepwell.start
import java.io.IOException
import java.time.Instant
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
    private val config = config.copy(
        persistAttempts = 3,
        // Each message is shown by itself.
        text = TextOptions(breakAfterTools = false),
    )
    private val states = MutableStateFlow(ChatState(running = true))
    private var machine: RunMachine? = null
    private var driver: TurnDriver? = null
    private val answers = mutableMapOf<String, CompletableDeferred<Answer>>()
    private var isOffline = false

    /** Whether the app is out of sight, which each run is told. */
    var isInBackground: Boolean = false
        private set

    /** What is on the screen. It says `running` until [restore] is through. */
    val state: StateFlow<ChatState> = states.asStateFlow()

    /** Takes up what the process before left, also in the middle of a turn. Once, before anything else. */
    fun restore(): Job = scope.launch {
        try {
            val snapshot = store.read()
            val now = Instant.now()
            machine = snapshot?.let { RunMachine.revive(it, config, now) }
        } catch (old: StepwellException.InvalidSnapshot) {
            store.setAside()
            states.value = ChatState(problem = old.message)
            return@launch
        } catch (error: IOException) {
            states.value = ChatState(problem = "The conversation cannot be read: ${error.message}")
            return@launch
        }
        val revived = machine
        if (revived == null) {
            states.value = ChatState()
        } else {
            states.value = ChatState.of(revived.messages()).copy(running = true)
            drive(revived, begin = { pollOutputs() }, isTold = false)
        }
    }

    /** Says something to the model, once the turn before is over. */
    fun send(text: String) {
        if (text.isBlank() || state.value.running) return
        val before = machine
        val history = before?.messages()
        val next = RunMachine(config, "chat", history)
        before?.close()
        machine = next
        val id = UUID.randomUUID().toString()
        states.update { it.copy(items = it.items + ChatItem.User(id, text), running = true, problem = null) }
        // A new run knows nothing of the phone. It is told before it asks for anything.
        if (isInBackground) next.enteredBackground()
        if (isOffline) next.networkLost()
        scope.launch { drive(next, begin = { start(Start(runId = id, text = text)) }, isTold = true) }
    }

    /** Stops the turn under way. */
    fun stop(): Unit = tell { cancel() }

    /** Answers one of [ChatState.questions]; one that is open no more is left alone. */
    fun answer(question: Question, answer: Answer) {
        answers[question.id]?.complete(answer)
    }

    /** The app goes to the background. What that does, `RunConfig.device` says. */
    fun enteredBackground() {
        isInBackground = true
        tell { enteredBackground() }
    }

    /** The app is in the foreground again. */
    fun enteredForeground() {
        isInBackground = false
        tell { enteredForeground() }
    }

    /** The phone has no network. */
    fun networkLost() {
        isOffline = true
        tell { networkLost() }
    }

    /** The phone has a network, or another one. */
    fun networkAvailable() {
        isOffline = false
        tell { networkAvailable() }
    }

    private fun tell(input: Input) {
        val driver = driver ?: return
        scope.launch { driver.tell(input) }
    }

    private suspend fun drive(machine: RunMachine, begin: Input, isTold: Boolean) {
        states.update { it.copy(running = true) }
        val driver = TurnDriver(machine, client, tools, store, ::ask)
        this.driver = driver
        // What a revived run gives is taken first.
        if (isInBackground && !isTold) enteredBackground()
        if (isOffline && !isTold) networkLost()
        try {
            driver.drive(begin).collect { event -> states.update { it.after(event) } }
        } catch (error: IOException) {
            states.update { it.copy(problem = "The conversation cannot be stored: ${error.message}") }
        } catch (refused: StepwellException) {
            states.update { it.copy(problem = refused.message) }
        } finally {
            this.driver = null
            states.update { it.copy(running = false, questions = emptyList()) }
        }
    }

    private suspend fun ask(question: Question): Answer {
        val answer = CompletableDeferred<Answer>()
        answers[question.id] = answer
        states.update { it.copy(questions = it.questions + question) }
        return try {
            answer.await()
        } finally {
            answers.remove(question.id, answer)
            states.update { state -> state.copy(questions = state.questions.filter { it.id != question.id }) }
        }
    }
}
