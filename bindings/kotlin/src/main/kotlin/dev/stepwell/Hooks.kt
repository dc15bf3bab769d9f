package dev.stepwell

import dev.stepwell.internal.AgentHook
import dev.stepwell.internal.Hook
import kotlin.coroutines.cancellation.CancellationException
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** Thrown by a hook that refuses its subject, for this [reason]. */
public class HookRefusal(public val reason: String) : Exception(reason)

/** Refuses the subject of a hook: the reason is for the model to read, or for the caller that waits for the turn. */
public fun refuse(reason: String): Nothing = throw HookRefusal(reason)

/** Sets the subjects of a hook, with the code for each; see [AgentBuilder.hook]. */
@StepwellDsl
public class HookBuilder internal constructor(private val name: String, private val app: AppCode) {
    private var request: (suspend (HookSubject.HookedRequest) -> HookAnswer)? = null
    private var answer: (suspend (HookSubject.HookedAnswer) -> HookAnswer)? = null
    private var call: (suspend (ToolInvocation) -> HookAnswer)? = null
    private var result: (suspend (HookSubject.HookedResult) -> HookAnswer)? = null

    /**
     * Inspects a request to the model, once for each request, not for each try: returns AG-UI messages to send instead
     * of the request's own, or null. The history is not changed.
     */
    public fun beforeRequest(look: suspend (HookSubject.HookedRequest) -> JsonArray?) {
        request = { look(it)?.let { messages -> HookAnswer.ChangeRequest(null, messages) } ?: HookAnswer.GoOn }
    }

    /** Inspects the model's answer, before anything follows from it. The user may have read it by then. */
    public fun afterAnswer(look: suspend (HookSubject.HookedAnswer) -> Unit) {
        answer = {
            look(it)
            HookAnswer.GoOn
        }
    }

    /**
     * Inspects a call, before the user is asked whether it may run: returns the arguments to run it with instead of its
     * own, or null. They must fit the tool's schema, and the model is not informed.
     */
    public fun beforeTool(look: suspend (ToolInvocation) -> JsonObject?) {
        call = { look(it)?.let(HookAnswer::ChangeArguments) ?: HookAnswer.GoOn }
    }

    /** Inspects the result of a call: returns another result for the model, text or content parts, or null. */
    public fun afterTool(look: suspend (HookSubject.HookedResult) -> JsonElement?) {
        result = { look(it)?.let(HookAnswer::ChangeResult) ?: HookAnswer.GoOn }
    }

    internal fun build(): AgentHook {
        val moments = listOfNotNull(
            HookMoment.BEFORE_REQUEST.takeIf { request != null },
            HookMoment.AFTER_ANSWER.takeIf { answer != null },
            HookMoment.BEFORE_TOOL.takeIf { call != null },
            HookMoment.AFTER_TOOL.takeIf { result != null },
        )
        return AgentHook(name, moments, Looking(app, request, answer, call, result))
    }
}

private class Looking(
    private val app: AppCode,
    private val request: (suspend (HookSubject.HookedRequest) -> HookAnswer)?,
    private val answer: (suspend (HookSubject.HookedAnswer) -> HookAnswer)?,
    private val call: (suspend (ToolInvocation) -> HookAnswer)?,
    private val result: (suspend (HookSubject.HookedResult) -> HookAnswer)?,
) : Hook {
    override suspend fun look(subject: HookSubject): HookAnswer =
        try {
            app.run { answerTo(subject) ?: HookAnswer.GoOn }
        } catch (refusal: HookRefusal) {
            HookAnswer.Refused(refusal.reason)
        } catch (cancelled: CancellationException) {
            throw cancelled
        } catch (failed: Exception) {
            HookAnswer.Failed(failed.message ?: failed.toString())
        }

    private suspend fun answerTo(subject: HookSubject): HookAnswer? = when (subject) {
        is HookSubject.HookedRequest -> request?.invoke(subject)
        is HookSubject.HookedAnswer -> answer?.invoke(subject)
        is HookSubject.HookedCall -> call?.invoke(subject.invocation)
        is HookSubject.HookedResult -> result?.invoke(subject)
    }
}

/** The text of a result, where it is text. */
public val HookSubject.HookedResult.text: String?
    get() = (content as? JsonPrimitive)?.takeIf { it.isString }?.content
