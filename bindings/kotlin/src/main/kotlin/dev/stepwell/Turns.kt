package dev.stepwell

import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement

/**
 * Says something to the model when the flow is collected, and emits what happens until the turn is over; the last event
 * is [Event.Completed].
 *
 * Behind the text come [parts], in order: what [image], [audio], [video], [document] and [file] make, and [text] between
 * them. An empty text is none.
 *
 * ```
 * agent.send("What is this?", image("shark.png"))
 * ```
 *
 * The app's code of the turn (tools, approver, hooks, store, …) runs in the coroutine context of the collector. Cancelling
 * the collector cancels the turn: its tools are stopped, its connection is closed, and `join` returns once they have ended.
 * If another turn of the thread is under way, the turn fails at once with [ProblemKind.BUSY], unless `whenBusy` is
 * [WhenBusy.CANCEL]. [options] are what is otherwise for this turn than the agent
 * has it, [tools] what it offers beside the agent's.
 */
public fun Agent.send(
    text: String,
    vararg parts: ContentPart,
    options: TurnOptions = TurnOptions(),
    tools: List<AgentTool> = emptyList(),
): Flow<Event> = flow {
    turnScope { agent ->
        agent.startTurn(text, options, tools, parts.asList()).use { turn ->
            // Closing a turn that is not over cancels it.
            while (true) {
                val events = turn.nextBatch()
                if (events.isEmpty()) break
                for (event in events) emit(event)
            }
        }
    }
}

/**
 * Says something to the model and waits for its whole answer. Cancelling the caller cancels the turn, and the app's code
 * runs in the caller's coroutine context, as for [send].
 *
 * `startTurn(text).use { it.finish() }` gives the turn however it ended. Nobody sees what an AG-UI agent asks meanwhile:
 * it is told that there is no answer, and where it asks once more, the turn is cancelled. [send] shows it.
 *
 * @throws TurnException the answer is not whole: its subclasses say why, as [TurnException.Authentication] does.
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
 * The newest messages that fill no more than this part of the room: half of it leaves room to go on for a while. They are for
 * [Trimmed.keep].
 */
public fun ContextOverflow.newest(part: Double): List<String> = newestMessages(this, part)

/** What kept the turn from a whole answer; nothing if the answer is whole. */
public val Outcome.problem: Problem? get() = problemOf(this)

/** The event as JSON: one of AG-UI as AG-UI has it, with its `type` in capitals. */
public fun Event.toJson(): JsonElement = eventToJson(this)
