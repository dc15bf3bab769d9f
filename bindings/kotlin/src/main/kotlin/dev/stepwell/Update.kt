package dev.stepwell

import kotlin.time.Duration
import kotlinx.serialization.json.JsonElement

/**
 * An update of a turn, as an app shows it: of [Turn.updates]. The end of the turn is no update: it is the [Turn.result],
 * or the exception of the flow.
 *
 * Later versions may have more of them: a `when` over the updates that an app shows has an `else`.
 */
public sealed interface Update {
    /** The turn begins: [turnId], in the conversation [threadId]. */
    public data class Started(public val threadId: String, public val turnId: String) : Update

    /** The turn continues with another request, the [hop] from 1. It is for logs, and nothing to show. */
    public data class HopStarted(public val hop: Int, public val runId: String) : Update

    /** A delta of the answer's text. */
    public data class Text(public val messageId: String, public val delta: String) : Update

    /** A delta of the model's reasoning. */
    public data class Reasoning(public val messageId: String, public val delta: String) : Update

    /** The status of a tool call has changed; with its [result] at the end. */
    public data class ToolCall(
        public val toolCallId: String,
        public val name: String,
        public val status: ToolCallStatus,
        public val result: ToolResult?,
        public val call: CallKey,
    ) : Update

    /** The parsed changes of a tool call's arguments, for a [PartialValue]; only with [RunConfig.partialArguments]. */
    public data class ToolArguments(
        public val toolCallId: String,
        public val changes: List<ArgumentsChange>,
        public val stopped: String?,
    ) : Update

    /** A running tool reports its progress, from 0 to 1 if that is known, and what it is doing. */
    public data class ToolProgress(
        public val toolCallId: String,
        public val name: String,
        public val fraction: Double?,
        public val message: String?,
    ) : Update

    /** A running tool shows its result so far: its text, and the content parts where it is more than text. */
    public data class ToolPartialResult(
        public val toolCallId: String,
        public val name: String,
        public val content: String,
        public val parts: JsonElement?,
    ) : Update

    /** The typed answer has grown: [Turn.partialOutput] is what there is of it, and [changes] what is new. */
    public data class Output(public val changes: List<ArgumentsChange>, public val stopped: String?) : Update

    /** The typed answer does not fit its type: the model gets the reason, and is asked again. */
    public data class OutputRefused(public val reason: String, public val retriesLeft: Int) : Update

    /** An AG-UI agent asks the user; the turn waits for [Turn.resume]. */
    public data class Interrupted(public val interrupts: List<Interrupt>) : Update

    /** What the turn waits for has changed: this is all of it now. [Turn.approve] and the like answer. */
    public data class Pending(public val pending: List<dev.stepwell.Pending>) : Update

    /**
     * A request failed, or its answer was empty or could not be read, and the model is asked again after the [delay]. The
     * [attempt] counts from 1.
     */
    public data class Retrying(
        public val kind: ErrorKind,
        public val attempt: Int,
        public val delay: Duration,
        public val reason: String,
    ) : Update

    /**
     * Another model is asked from here on: after a failure of the [previous] one, or because the app chose it, or the
     * previous one rests; then [after] and [reason] are null.
     */
    public data class ModelChanged(
        public val hop: Int,
        public val model: ModelName,
        public val previous: ModelName,
        public val after: ErrorKind?,
        public val reason: String?,
    ) : Update

    /** There is no network: the next request waits for it. */
    public data class WaitingForNetwork(public val upTo: Duration) : Update

    /** A stream that broke off is open again, and continues where it stopped. */
    public data class StreamResumed(public val hop: Int, public val attempt: Int) : Update

    /** A message that the user sent during the turn is in the conversation now, and this hop answers it. */
    public data class SteeringTaken(public val messageId: String, public val hop: Int) : Update

    /**
     * A message that the user sent during the turn was not taken, and is returned, for the input field say: the complete
     * AG-UI message, the reason, and the same in a sentence.
     */
    public data class SteeringRefused(
        public val message: JsonElement,
        public val reason: SteeringRefusal,
        public val explanation: String,
    ) : Update

    /** The conversation nearly fills the model's context [window]: both are numbers of tokens. */
    public data class ContextNearlyFull(public val tokens: Long, public val window: Long) : Update

    /** The turn continues without some messages, which did not fit the model's context window. */
    public data class ContextTrimmed(
        public val leftOut: List<String>,
        public val tokens: Long,
        public val compaction: Compaction,
    ) : Update

    /** A hook has refused, or failed. */
    public data class HookRefused(
        public val hook: String,
        public val moment: HookMoment,
        public val reason: String,
        public val toolCallId: String?,
    ) : Update

    /** Something odd that did not stop the turn. */
    public data class Warning(public val message: String) : Update

    /**
     * Any other AG-UI event: where a message begins and ends, a shared state, an activity, what an agent sends of its
     * own.
     */
    public data class AgUi(public val event: Event) : Update
}

/** The update of an event; null for the end of the turn, which is its result. */
internal fun Event.update(): Update? = when (this) {
    is Event.TextMessageContent -> Update.Text(messageId, delta)
    is Event.ReasoningMessageContent -> Update.Reasoning(messageId, delta)
    is Event.Started -> Update.Started(threadId, runId)
    is Event.HopStarted -> Update.HopStarted(hop, runId)
    is Event.ToolCallUpdate -> Update.ToolCall(toolCallId, name, status, result, call)
    is Event.PartialArguments -> Update.ToolArguments(toolCallId, changes, stopped)
    is Event.ToolProgress -> Update.ToolProgress(toolCallId, name, fraction, message)
    is Event.ToolPartialResult -> Update.ToolPartialResult(toolCallId, name, content, parts)
    is Event.PartialOutput -> Update.Output(changes, stopped)
    is Event.OutputRefused -> Update.OutputRefused(reason, retriesLeft)
    is Event.Interrupted -> Update.Interrupted(interrupts)
    is Event.Pending -> Update.Pending(pending)
    is Event.Retrying -> Update.Retrying(kind, attempt, delay, reason)
    is Event.ModelChanged -> Update.ModelChanged(hop, model, previous, after, reason)
    is Event.WaitingForNetwork -> Update.WaitingForNetwork(upTo)
    is Event.StreamResumed -> Update.StreamResumed(hop, attempt)
    is Event.SteeringTaken -> Update.SteeringTaken(messageId, hop)
    is Event.SteeringRefused -> Update.SteeringRefused(message, reason, explanation)
    is Event.ContextNearlyFull -> Update.ContextNearlyFull(tokens, window)
    is Event.ContextTrimmed -> Update.ContextTrimmed(leftOut, tokens, compaction)
    is Event.HookRefused -> Update.HookRefused(hook, moment, reason, toolCallId)
    is Event.Warning -> Update.Warning(message)
    is Event.AnswerDropped -> Update.Warning("an answer for `$effect` came when none was awaited")
    is Event.UnknownToolCall ->
        Update.Warning("the stream had an event for the tool call `$toolCallId`, which is not open")
    is Event.Completed -> null
    else -> Update.AgUi(this)
}
