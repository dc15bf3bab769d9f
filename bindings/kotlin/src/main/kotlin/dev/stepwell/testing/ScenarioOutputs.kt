package dev.stepwell.testing

import dev.stepwell.*
import kotlin.math.round
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put

// The results of a scenario's steps, in the form of its file.

private fun snake(name: String): String = name.replace(Regex("(?<!^)(?=[A-Z])"), "_").lowercase()

private fun kind(value: Any): String = snake(value::class.simpleName!!)

private fun key(call: CallKey) = "${call.hop}:${call.index}"

/** How a turn ended, in a line. */
internal fun line(outcome: Outcome): String = when (outcome) {
    is Outcome.Incomplete -> "incomplete ${outcome.reason.name.lowercase()}: ${outcome.message}"
    is Outcome.LimitReached -> "limit_reached ${kind(outcome.limit)}: ${outcome.message}"
    is Outcome.Failed -> "failed ${kind(outcome.failure)}: ${outcome.message}"
    else -> kind(outcome)
}

/** An event: its kind, what it extends, and its content. */
private fun line(event: Event): Triple<String, String?, String> {
    val kind = kind(event)
    fun said(text: Any) = Triple(kind, null, text.toString())
    return when (event) {
        is Event.TextMessageContent -> Triple(kind, event.messageId, event.delta)
        is Event.ReasoningMessageContent -> Triple(kind, event.messageId, event.delta)
        is Event.ToolCallArgs -> Triple(kind, event.toolCallId, event.delta)
        is Event.PartialArguments -> Triple(kind, event.toolCallId, "")
        is Event.PartialOutput -> Triple(kind, event.hop.toString(), "")
        is Event.HookRefused -> said("${event.hook} ${event.moment.name.lowercase()}, ${event.reason}")
        is Event.OutputRefused -> said("${event.retriesLeft}, ${event.reason}")
        is Event.ToolCallStart -> said(event.toolCallName)
        is Event.ToolCallResult -> said(event.content)
        is Event.StepStarted -> said(event.stepName)
        is Event.StepFinished -> said(event.stepName)
        is Event.Custom -> said(event.name)
        is Event.HopStarted -> said("${event.hop} ${event.runId}")
        is Event.ToolCallUpdate -> {
            val what = when (val result = event.result) {
                is ToolResult.Finished -> ": ${result.content}"
                is ToolResult.Failed -> " (${result.kind.name.lowercase()}): ${result.message}"
                null -> ""
            }
            said("${key(event.call)} ${event.status.name.lowercase()}$what")
        }
        is Event.Retrying -> {
            val kind = event.kind.name.lowercase()
            said("${event.attempt} in ${event.delay.inWholeMilliseconds} ms, $kind: ${event.reason}")
        }
        is Event.Interrupted -> said(event.interrupts.joinToString(" ") { it.id })
        is Event.Pending -> said(event.pending.joinToString(" ") { it.id })
        is Event.AnswerDropped -> said(event.effect)
        is Event.Warning -> said(event.message)
        is Event.Completed -> said(line(event.outcome))
        is Event.UnknownToolCall -> said(event.toolCallId)
        is Event.SteeringTaken -> said("${event.messageId} ${event.hop}")
        is Event.SteeringRefused -> said(event.reason.name.lowercase())
        is Event.WaitingForNetwork -> said(event.upTo.inWholeMilliseconds)
        is Event.StreamResumed -> said("${event.hop}:${event.attempt}")
        is Event.ToolProgress -> {
            val percent = event.fraction?.let { "${round(it * 100).toInt()} %" }
            said(listOfNotNull(key(event.call), percent, event.message).joinToString(" "))
        }
        is Event.ToolPartialResult -> said("${key(event.call)} ${event.content}")
        is Event.ContextNearlyFull -> said("${event.tokens} of ${event.window}")
        is Event.ModelChanged -> {
            val after = event.after?.let { " after ${it.name.lowercase()}" }.orEmpty()
            said("${event.previous.model} to ${event.model.model}$after")
        }
        is Event.ContextTrimmed -> said("${event.tokens}, without ${event.leftOut.joinToString(" ")}")
        else -> said("")
    }
}

/** The events in a line each; adjacent deltas of the same item are joined, however the bytes were cut. */
internal fun lines(events: List<Event>): List<String> {
    val lines = mutableListOf<Triple<String, String?, String>>()
    for (event in events) {
        val line = line(event)
        val last = lines.lastOrNull()
        if (last != null && line.second != null && last.first == line.first && last.second == line.second) {
            lines[lines.size - 1] = last.copy(third = last.third + line.third)
        } else {
            lines += line
        }
    }
    return lines.map { (kind, _, detail) -> if (detail.isEmpty()) kind else "$kind: $detail" }
}

private fun json(context: HopContext): JsonObject = buildJsonObject {
    put("hop", context.hop)
    val models = context.models.map {
        buildJsonObject {
            put("name", buildJsonObject {
                put("provider", it.name.provider)
                put("model", it.name.model)
            })
            put("is_resting", it.isResting)
        }
    }
    put("models", JsonArray(models))
    put("current", context.current)
    put("tools", JsonArray(context.tools.map(::JsonPrimitive)))
    put("tokens", context.tokens)
}

internal fun json(effect: Effect): JsonObject = buildJsonObject {
    fun optional(name: String, value: String?) {
        if (value != null) put(name, value)
    }
    fun request(request: HttpRequest) {
        put("method", request.method)
        put("url", request.url)
        put("headers", JsonObject(request.headers.associate { it.name to JsonPrimitive(it.value) }))
        // A request about a stored answer has no body.
        if (request.body.isNotEmpty()) put("body", Json.parseToJsonElement(request.body.decodeToString()))
    }

    fun call(invocation: ToolInvocation) {
        put("tool_call_id", invocation.toolCallId)
        put("name", invocation.name)
        put("arguments", invocation.arguments)
        put("raw_arguments", invocation.rawArguments)
        if (invocation.attempt > 1) put("attempt", invocation.attempt)
    }
    put("id", effect.id)
    put("effect", kind(effect))
    when (effect) {
        is Effect.CreateRun -> {
            put("thread_id", effect.threadId)
            optional("parent_run_id", effect.parentRunId)
        }
        is Effect.OpenStream -> request(effect.request)
        is Effect.CancelAnswer -> request(effect.request)
        is Effect.AskApproval -> call(effect.invocation)
        is Effect.RunTool -> call(effect.invocation)
        is Effect.AskUser -> {
            put("tool_call_id", effect.invocation.toolCallId)
            put("message", effect.question.message)
            put("schema", effect.question.schema)
        }
        is Effect.AnswerTool -> when (val answer = effect.answer) {
            is UserAnswer.Given -> put("value", answer.value)
            is UserAnswer.Declined -> optional("reason", answer.reason)
        }
        is Effect.Persist -> {
            put("turn", effect.turn)
            put("status", effect.status.name.lowercase())
            optional("outcome", effect.outcome?.let(::line))
            val blocks = effect.blocks.map { block ->
                buildJsonObject {
                    put("sequence", block.sequence)
                    put("hop", block.hop.toLong())
                    put("content", block.content)
                }
            }
            put("blocks", JsonArray(blocks))
        }
        is Effect.TrimContext -> {
            put("tokens", effect.tokens)
            put("window", effect.window)
            val messages = effect.messages.map {
                buildJsonObject {
                    put("message_id", it.messageId)
                    put("tokens", it.tokens)
                }
            }
            put("messages", JsonArray(messages))
        }
        is Effect.ChooseModel -> put("context", json(effect.context))
        is Effect.DecodeOutput -> put("value", effect.value)
        is Effect.Authorize -> put("rejected", effect.rejected)
        is Effect.RunHook -> {
            put("hook", effect.hook)
            when (val subject = effect.subject) {
                is HookSubject.HookedRequest -> {
                    optional("instructions", subject.instructions)
                    put("messages", subject.messages)
                }
                is HookSubject.HookedAnswer -> put("text", subject.text)
                is HookSubject.HookedCall -> {
                    put("name", subject.invocation.name)
                    put("arguments", subject.invocation.arguments)
                }
                is HookSubject.HookedResult -> {
                    put("name", subject.invocation.name)
                    put("content", subject.content)
                    put("is_error", subject.isError)
                }
            }
        }
        is Effect.CloseStream, is Effect.CancelTool -> Unit
    }
}
