package dev.stepwell

import dev.stepwell.internal.CallException
import java.io.IOException
import java.util.concurrent.TimeoutException

/**
 * What went wrong, in a turn or in a call: one class for each [ErrorKind].
 *
 * ```
 * try {
 *     agent.run("Hi")
 * } catch (failed: StepwellException.RateLimit) {
 *     …
 * } catch (failed: StepwellException) {
 *     show("${failed.message}; ${failed.advice}")
 * }
 * ```
 *
 * The [message] is one short sentence, without anything of the conversation.
 *
 * @property problem The same as data.
 * @property provider The provider of the model, with a fallback that of the model which was asked last; null if the
 *   exception is not a turn's.
 * @property result What the turn had come to until it failed, without an `output`; null if no turn had begun.
 */
public sealed class StepwellException(
    public val problem: Problem,
    public val provider: String?,
    public val result: TurnResult<Nothing?>?,
    cause: Throwable? = null,
) : RuntimeException(problem.message, cause) {
    private constructor(of: FailedTurn, cause: Throwable? = null) : this(of.problem, of.provider, of.result, cause)

    /** What went wrong, in one sentence. */
    final override val message: String get() = problem.message

    /** What to do about it. */
    public val advice: String get() = problem.advice

    /** The name of the model that was asked last; null if no turn had begun. */
    public val model: String? get() = problem.model?.model

    /** The HTTP status of the provider's answer, if it answered with an error. */
    public val status: Int? get() = problem.status

    /** Whether a later attempt may succeed. */
    public val retryable: Boolean get() = problem.retryable

    final override fun toString(): String = "${javaClass.name}: $message; $advice"

    /** The key is missing or wrong. */
    public class Authentication internal constructor(of: FailedTurn) : StepwellException(of)

    /** The key is valid, and not allowed to do this. */
    public class Permission internal constructor(of: FailedTurn) : StepwellException(of)

    /** The model or the address does not exist. */
    public class NotFound internal constructor(of: FailedTurn) : StepwellException(of)

    /** There were too many requests. */
    public class RateLimit internal constructor(of: FailedTurn) : StepwellException(of)

    /** The account's quota or credit is used up. */
    public class Quota internal constructor(of: FailedTurn) : StepwellException(of)

    /** The conversation is longer than the model can read. */
    public class ContextTooLong internal constructor(of: FailedTurn) : StepwellException(of)

    /** The request is at fault. */
    public class InvalidRequest internal constructor(of: FailedTurn) : StepwellException(of)

    /** The model refused to answer, or a hook of the app refused the request or the answer. */
    public class Refused internal constructor(of: FailedTurn) : StepwellException(of)

    /** The provider's filter stopped the request or the answer. */
    public class ContentFilter internal constructor(of: FailedTurn) : StepwellException(of)

    /** The answer is empty, or is not of the type that was asked for. */
    public class OutputInvalid internal constructor(of: FailedTurn) : StepwellException(of)

    /** A limit was reached: the turn's, the agent's own, or the model's limit of tokens. */
    public class LimitReached internal constructor(of: FailedTurn) : StepwellException(of)

    /** A tool, or other code of the app, failed. With [OnToolError.FAIL] the [cause] is what the tool threw. */
    public class ToolFailed internal constructor(of: FailedTurn) : StepwellException(of, of.cause)

    /** The provider or the agent is at fault. */
    public class ServerError internal constructor(of: FailedTurn) : StepwellException(of)

    /** The provider or the model has too much to do. */
    public class Overloaded internal constructor(of: FailedTurn) : StepwellException(of)

    /** The response is not an answer in the provider's format. */
    public class InvalidResponse internal constructor(of: FailedTurn) : StepwellException(of)

    /** The model's server cannot be reached, or the connection broke. The [cause] is a [IOException]. */
    public class Connection internal constructor(of: FailedTurn) : StepwellException(of, IOException(of.problem.message))

    /** The request or the turn took too long. The [cause] is a [java.util.concurrent.TimeoutException]. */
    public class Timeout internal constructor(of: FailedTurn) : StepwellException(of, TimeoutException(of.problem.message))

    /** The store cannot be read or written, or does not have what was asked for. */
    public class Store internal constructor(of: FailedTurn) : StepwellException(of)

    /** Another turn of the conversation is under way. */
    public class Busy internal constructor(of: FailedTurn) : StepwellException(of)

    /**
     * The turn was cancelled by [Turn.cancel] or [Conversation.cancel]. A coroutine that is cancelled itself gets a
     * `CancellationException` instead, as always.
     */
    public class Cancelled internal constructor(of: FailedTurn) : StepwellException(of)

    /** The program uses the library in a way that cannot work: the app's own mistake. */
    public open class Misuse internal constructor(of: FailedTurn) : StepwellException(of) {
        internal constructor(message: String, advice: String) :
            this(FailedTurn(problemWithoutModel(ErrorKind.MISUSE, message, advice)))
    }

    /** The text is no snapshot of a turn that can be read here: of another version, say. */
    public class InvalidSnapshot internal constructor(of: FailedTurn) : Misuse(of)

    /** The text is no journal, or the run differs from its journal. */
    public class InvalidJournal internal constructor(of: FailedTurn) : Misuse(of)

    /** The handle belongs to a run that no longer owns its thread. Nothing was changed. */
    public class Stale internal constructor(of: FailedTurn) : Misuse(of)

    /** A call broke off inside Stepwell, so that the run cannot be trusted any more. Please report it. */
    public class Broken internal constructor(of: FailedTurn) : Misuse(of)
}

/** Makes a problem that comes from no model. */
internal fun problemWithoutModel(kind: ErrorKind, message: String, advice: String): Problem =
    Problem(kind, message, advice, status = null, model = null, retryable = false)

/** What an exception says. */
internal class FailedTurn(
    val problem: Problem,
    val provider: String? = null,
    val result: TurnResult<Nothing?>? = null,
    val cause: Throwable? = null,
) {
    fun asException(): StepwellException = when (problem.kind) {
        ErrorKind.AUTHENTICATION -> StepwellException.Authentication(this)
        ErrorKind.PERMISSION -> StepwellException.Permission(this)
        ErrorKind.NOT_FOUND -> StepwellException.NotFound(this)
        ErrorKind.RATE_LIMIT -> StepwellException.RateLimit(this)
        ErrorKind.QUOTA -> StepwellException.Quota(this)
        ErrorKind.CONTEXT_TOO_LONG -> StepwellException.ContextTooLong(this)
        ErrorKind.INVALID_REQUEST -> StepwellException.InvalidRequest(this)
        ErrorKind.REFUSED -> StepwellException.Refused(this)
        ErrorKind.CONTENT_FILTER -> StepwellException.ContentFilter(this)
        ErrorKind.OUTPUT_INVALID -> StepwellException.OutputInvalid(this)
        ErrorKind.LIMIT_REACHED -> StepwellException.LimitReached(this)
        ErrorKind.TOOL_FAILED -> StepwellException.ToolFailed(this)
        ErrorKind.SERVER_ERROR -> StepwellException.ServerError(this)
        ErrorKind.OVERLOADED -> StepwellException.Overloaded(this)
        ErrorKind.INVALID_RESPONSE -> StepwellException.InvalidResponse(this)
        ErrorKind.CONNECTION -> StepwellException.Connection(this)
        ErrorKind.TIMEOUT -> StepwellException.Timeout(this)
        ErrorKind.STORE -> StepwellException.Store(this)
        ErrorKind.BUSY -> StepwellException.Busy(this)
        ErrorKind.CANCELLED -> StepwellException.Cancelled(this)
        ErrorKind.MISUSE -> StepwellException.Misuse(this)
    }
}

/** The exception of a call, for the app. */
internal fun CallException.forCaller(): StepwellException {
    val kind = if (this is CallException.Store) ErrorKind.STORE else ErrorKind.MISUSE
    val of = FailedTurn(problemWithoutModel(kind, reason, advice))
    return when (this) {
        is CallException.Snapshot -> StepwellException.InvalidSnapshot(of)
        is CallException.Journal -> StepwellException.InvalidJournal(of)
        is CallException.Stale -> StepwellException.Stale(of)
        is CallException.Broken -> StepwellException.Broken(of)
        is CallException.Store,
        is CallException.Configuration,
        is CallException.InvalidArgument,
        is CallException.Misuse,
        is CallException.Unavailable,
        -> of.asException()
    }
}
