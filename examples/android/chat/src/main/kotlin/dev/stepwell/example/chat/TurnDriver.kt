package dev.stepwell.example.chat

import dev.stepwell.Effect
import dev.stepwell.Event
import dev.stepwell.HookAnswer
import dev.stepwell.Outputs
import dev.stepwell.RunMachine
import dev.stepwell.StateKind
import dev.stepwell.ToolInvocation
import dev.stepwell.approve
import dev.stepwell.contextNotTrimmed
import dev.stepwell.decline
import dev.stepwell.deny
import dev.stepwell.hookAnswered
import dev.stepwell.id
import dev.stepwell.notAuthorized
import dev.stepwell.outputDecoded
import dev.stepwell.persistFailed
import dev.stepwell.persisted
import dev.stepwell.resume
import dev.stepwell.runNotCreated
import dev.stepwell.timeout
import dev.stepwell.toolFailed
import dev.stepwell.toolFinished
import java.io.IOException
import java.time.Instant
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.launch
import okhttp3.OkHttpClient

/** The code of a tool. */
typealias ToolCode = suspend (ToolInvocation) -> String

/**
 * Carries out what a run asks for: requests with OkHttp, tools, questions to the user, snapshots, waking. One coroutine
 * owns the run; all others tell it what came, one input at a time.
 */
class TurnDriver(
    private val machine: RunMachine,
    private val client: OkHttpClient,
    private val tools: Map<String, ToolCode>,
    private val store: SnapshotStore,
    private val ask: suspend (Question) -> Answer,
) {
    /** Whoever tells something waits until it is taken: a screen that is slow slows down the network. */
    private val inputs = Channel<Input>()

    /** Tells the run something while it is driven: that the user stops it, say. */
    suspend fun tell(input: Input): Unit = inputs.send(input)

    /**
     * Drives the run from its first input, and emits what happens, until the turn is over and stored. Cancelling the
     * collector leaves all as it is, as the death of the process does: the stored snapshot goes on.
     */
    fun drive(begin: Input): Flow<Event> = flow {
        coroutineScope {
            val work = mutableMapOf<String, Job>()
            var questions: Job? = null
            var outputs = machine.begin()
            // What the user said is safe before it is sent.
            store.write(machine.snapshot())
            while (true) {
                for (event in outputs.events) emit(event)
                val stored = carryOut(outputs, work)
                if (stored == null && machine.outcome() != null) break
                if (machine.state() != StateKind.INTERRUPTED) {
                    questions?.cancel()
                    questions = null
                } else if (questions == null) {
                    // The next process asks again, in the place of the agent.
                    store.write(machine.snapshot())
                    questions = launch { answerAgent() }
                }
                outputs = stored ?: await(outputs.wakeAt)
            }
            coroutineContext.cancelChildren()
        }
    }

    /** Begins what is asked for. Snapshots are written at once: what is built on them waits; what came of that is given. */
    private suspend fun CoroutineScope.carryOut(outputs: Outputs, work: MutableMap<String, Job>): Outputs? {
        var stored: Outputs? = null
        for (effect in outputs.effects) {
            when (effect) {
                is Effect.OpenStream -> work[effect.id] = launch { client.stream(effect, ::tell) }
                is Effect.RunTool -> work[effect.id] = launch { tell(run(effect)) }
                is Effect.AskApproval -> work[effect.id] = launch {
                    val answer = ask(Question.Approval(effect.id, effect.invocation))
                    tell { if (answer is Answer.Approved) approve(effect.id) else deny(effect.id, (answer as? Answer.Denied)?.reason) }
                }
                // The tools here ask nothing while they run.
                is Effect.AskUser -> launch { tell { decline(effect.id, "this app does not ask for tools") } }
                is Effect.AnswerTool -> Unit
                is Effect.CloseStream, is Effect.CancelTool -> work.remove(effect.id)?.cancel()
                is Effect.Persist -> stored = write(effect)
                is Effect.CreateRun -> launch { tell { runNotCreated(effect.id, "this app has no such backend") } }
                is Effect.DecodeOutput -> launch { tell { outputDecoded(effect.id) } }
                is Effect.Authorize -> launch { tell { notAuthorized(effect.id, "the key of this app does not change") } }
                is Effect.RunHook -> launch { tell { hookAnswered(effect.id, HookAnswer.Failed("this app has no hooks")) } }
                is Effect.TrimContext -> launch { tell { contextNotTrimmed(effect.id, "the chat is too long") } }
            }
        }
        return stored
    }

    private suspend fun run(effect: Effect.RunTool): Input = try {
        val content = tools.getValue(effect.invocation.name)(effect.invocation)
        val finished: Input = { toolFinished(effect.id, content) }
        finished
    } catch (broken: Exception) {
        // Only the run stops a call without an answer: a `withTimeout` of the tool's own is a failure like any other.
        currentCoroutineContext().ensureActive()
        val failed: Input = { toolFailed(effect.id, broken.message ?: broken.toString()) }
        failed
    }

    /** Answers all that the agent asks; it wants the answers together. */
    private suspend fun answerAgent() = coroutineScope {
        val answers = machine.interrupts().map { async { it.answeredWith(ask(Question.FromAgent(it))) } }.awaitAll()
        tell { resume(answers) }
    }

    private suspend fun write(effect: Effect.Persist): Outputs = try {
        store.write(machine.snapshot())
        machine.persisted(effect.id)
    } catch (full: IOException) {
        machine.persistFailed(effect.id, "${full.message}")
    }

    /** The next input's outputs, or those of the time that has passed. */
    private suspend fun CoroutineScope.await(wakeAt: Instant?): Outputs {
        val alarm = wakeAt?.let { at ->
            launch {
                delay(at.toEpochMilli() - System.currentTimeMillis())
                tell { timeout() }
            }
        }
        val input = inputs.receive()
        alarm?.cancel()
        return machine.input()
    }
}
