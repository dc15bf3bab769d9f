package dev.stepwell

import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement

/**
 * Sends a message to the model when the flow is collected, and emits the events until the turn is over; the last event
 * is [Event.Completed].
 *
 * The [parts] follow the text, in order: what [image], [audio], [video], [document] and [file] make, and [text] between
 * them. With parts, an empty text is left out.
 *
 * ```
 * agent.send("What is this?", image("shark.png"))
 * ```
 *
 * The app's code of the turn (tools, approver, hooks, store, …) runs in the coroutine context of the collector. Cancelling
 * the collector cancels the turn: its tools are stopped, its connection is closed, and `join` returns once they have ended.
 * If another turn of the thread is under way, the turn fails at once with [ProblemKind.BUSY], unless `whenBusy` is
 * [WhenBusy.CANCEL]. [options] override the agent's options for this turn, and [tools] are offered in addition to the
 * agent's.
 */
public fun Agent.send(
    text: String,
    vararg parts: ContentPart,
    options: TurnOptions = TurnOptions(),
    tools: List<AgentTool> = emptyList(),
): Flow<Event> = flow {
    turnScope { agent ->
        agent.startTurn(text, options, tools, parts.asList()).use { turn ->
            // Closing an unfinished turn cancels it.
            while (true) {
                val events = turn.nextBatch()
                if (events.isEmpty()) break
                for (event in events) emit(event)
            }
        }
    }
}

/**
 * Sends a message to the model and waits for its complete answer. Cancelling the caller cancels the turn, and the app's
 * code runs in the caller's coroutine context, as for [send].
 *
 * `startTurn(text).use { it.finish() }` returns the turn however it ended. Questions of an AG-UI agent are not shown to
 * the user meanwhile: the agent is informed that there is no answer, and if it asks again, the turn is cancelled.
 * [send] shows them.
 *
 * @throws TurnException if the answer is incomplete: its subclasses give the reason, such as
 * [TurnException.Authentication].
 */
@Throws(TurnException::class, CancellationException::class)
public suspend fun Agent.sendAndWait(
    text: String,
    vararg parts: ContentPart,
    options: TurnOptions = TurnOptions(),
    tools: List<AgentTool> = emptyList(),
): Finished = turnScope { agent ->
    requireWhole(agent.startTurn(text, options, tools, parts.asList()).use { it.finish() })
}

/**
 * The newest messages that fill no more than this part of the room, for [Trimmed.keep]: half of it leaves room to
 * continue for a while.
 */
public fun ContextOverflow.newest(part: Double): List<String> = newestMessages(this, part)

/** What kept the turn from a complete answer; null if the answer is complete. */
public val Outcome.problem: Problem? get() = problemOf(this)

/** The event as JSON: one of AG-UI in AG-UI's form, with its `type` in capitals. */
public fun Event.toJson(): JsonElement = eventToJson(this)
