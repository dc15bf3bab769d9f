package dev.stepwell

import dev.stepwell.internal.Finished

/** Why a turn ended. All but [COMPLETE] are those of an exception's [StepwellException.result]. */
public enum class StopReason {
    /** The answer is complete. */
    COMPLETE,

    /** The model's limit of tokens cut the answer off. */
    MAX_TOKENS,

    /** The provider's filter stopped the answer. */
    CONTENT_FILTER,

    /** The model refused to answer. */
    REFUSED,

    /** The model ended without text, a tool call or media. */
    EMPTY,

    /** A limit of the turn was reached. */
    LIMIT_REACHED,

    /** The turn was cancelled. */
    CANCELLED,

    /** The stream ended before the answer did. */
    TRUNCATED,

    /** Something failed. */
    FAILED,
}

/**
 * A turn that is over, or what there was of it when it failed: the [StepwellException.result].
 *
 * @property output The answer: of the type that was asked for; the [text] where none was.
 * @property text The text of the model's last message.
 * @property fullText All that the model said in the turn, as it was shown: with a line break between the texts before and
 * after tool calls.
 * @property messages The conversation after the turn.
 * @property usage The tokens of the turn and what they cost, over all its hops.
 * @property stopReason Why the turn ended.
 * @property outcome The same in detail.
 * @property hops How many requests to the model the turn took.
 */
public class TurnResult<out T> internal constructor(
    public val output: T,
    public val text: String,
    public val fullText: String,
    public val messages: Transcript,
    public val usage: TokenUsage,
    public val stopReason: StopReason,
    public val outcome: Outcome,
    public val hops: Int,
) {
    /** What the turn cost, in US dollars; null if the price is not known. */
    public val cost: Double? get() = usage.cost

    /** Nothing of the conversation. */
    override fun toString(): String = "TurnResult(stopReason=$stopReason, hops=$hops, usage=$usage)"

    internal companion object {
        fun <T> of(finished: Finished, read: (Finished, String) -> T): TurnResult<T> {
            val messages = Transcript(finished.messages)
            val text = (messages.lastOrNull { it !is ToolMessage } as? AssistantMessage)?.text.orEmpty()
            return TurnResult(
                output = read(finished, text),
                text = text,
                fullText = finished.text,
                messages = messages,
                usage = finished.usage,
                stopReason = reasonOf(finished.outcome),
                outcome = finished.outcome,
                hops = finished.hops,
            )
        }

        private fun reasonOf(outcome: Outcome): StopReason = when (outcome) {
            Outcome.Success -> StopReason.COMPLETE
            Outcome.Cancelled -> StopReason.CANCELLED
            Outcome.Truncated -> StopReason.TRUNCATED
            is Outcome.Failed -> StopReason.FAILED
            is Outcome.LimitReached -> StopReason.LIMIT_REACHED
            is Outcome.Incomplete -> when (outcome.reason) {
                Incomplete.LENGTH -> StopReason.MAX_TOKENS
                Incomplete.CONTENT_FILTER -> StopReason.CONTENT_FILTER
                Incomplete.REFUSAL -> StopReason.REFUSED
                Incomplete.LIMIT -> StopReason.LIMIT_REACHED
                Incomplete.EMPTY -> StopReason.EMPTY
            }
        }
    }
}
