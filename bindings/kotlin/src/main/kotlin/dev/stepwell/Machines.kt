@file:JvmName("Machines")

package dev.stepwell

import java.nio.ByteBuffer
import java.util.UUID
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

// The sans-IO API with Kotlin's own types: byte arrays, and times as `System.currentTimeMillis` has them.

/** The state shared with an AG-UI agent. */
public val RunMachine.sharedState: JsonElement get() = Json.parseToJsonElement(sharedStateJson())

/** Starts the turn. */
public fun RunMachine.start(start: Start, nowMs: Long = now()): Outputs = start(start, nowMs.toULong())

/** The backend created a run. */
public fun RunMachine.runCreated(effect: String, runId: String, nowMs: Long = now()): Outputs =
    runCreated(effect, runId, nowMs.toULong())

/** The backend did not create a run. */
public fun RunMachine.runNotCreated(effect: String, message: String, nowMs: Long = now()): Outputs =
    runNotCreated(effect, message, nowMs.toULong())

/** The conversation is to go on with these of its messages, and with `summary` in the place of the others. */
public fun RunMachine.contextTrimmed(
    effect: String,
    keep: List<String>,
    summary: String? = null,
    nowMs: Long = now(),
): Outputs = contextTrimmed(effect, keep, nowMs.toULong(), summary)

/** There is no way to shorten the conversation: the turn fails. */
public fun RunMachine.contextNotTrimmed(effect: String, message: String, nowMs: Long = now()): Outputs =
    contextNotTrimmed(effect, message, nowMs.toULong())

/** The provider answered with a 2xx status: the body follows. */
public fun RunMachine.opened(effect: String, contentType: String?, nowMs: Long = now()): Outputs =
    opened(effect, contentType, nowMs.toULong())

/** The provider answered with any other status. */
public fun RunMachine.refused(
    effect: String,
    status: Int,
    body: ByteArray,
    retryAfterMs: Long? = null,
    nowMs: Long = now(),
): Outputs = refused(effect, status.toUShort(), direct(body, body.size), nowMs.toULong(), retryAfterMs?.toULong())

/** No answer came at all. */
public fun RunMachine.connectionFailed(effect: String, message: String, nowMs: Long = now()): Outputs =
    connectionFailed(effect, message, nowMs.toULong())

/** Bytes of the body: the first [length] of [bytes], cut anywhere. */
public fun RunMachine.receive(
    effect: String,
    bytes: ByteArray,
    length: Int = bytes.size,
    nowMs: Long = now(),
): Outputs = receive(effect, direct(bytes, length), nowMs.toULong())

/** The body ended as it should. */
public fun RunMachine.ended(effect: String, nowMs: Long = now()): Outputs = ended(effect, nowMs.toULong())

/** The connection broke within the body. */
public fun RunMachine.lost(effect: String, message: String, nowMs: Long = now()): Outputs =
    lost(effect, message, nowMs.toULong())

/** A tool gave a result. */
public fun RunMachine.toolFinished(effect: String, content: String, nowMs: Long = now()): Outputs =
    toolFinished(effect, content, nowMs.toULong())

/** A tool failed; the model is shown the message. */
public fun RunMachine.toolFailed(
    effect: String,
    message: String,
    kind: ToolFailureKind = ToolFailureKind.ERROR,
    nowMs: Long = now(),
): Outputs = toolFailed(effect, message, nowMs.toULong(), kind)

/** The tool has begun something whose result comes later, with [toolFinished] or [toolFailed]. */
public fun RunMachine.toolDeferred(effect: String, nowMs: Long = now()): Outputs = toolDeferred(effect, nowMs.toULong())

/**
 * The user allows the call. With [arguments] it is run with these in the place of the model's, and the model is told.
 *
 * @throws StepwellException.InvalidArgument if the arguments do not fit the tool; the call is still asking
 */
public fun RunMachine.approve(effect: String, arguments: JsonObject? = null, nowMs: Long = now()): Outputs =
    approve(effect, nowMs.toULong(), arguments?.toString())

/** The user does not allow the call. */
public fun RunMachine.deny(effect: String, reason: String? = null, nowMs: Long = now()): Outputs =
    deny(effect, reason, nowMs.toULong())

/** Blocks are stored. */
public fun RunMachine.persisted(effect: String, nowMs: Long = now()): Outputs = persisted(effect, nowMs.toULong())

/** Blocks could not be stored. */
public fun RunMachine.persistFailed(effect: String, message: String, nowMs: Long = now()): Outputs =
    persistFailed(effect, message, nowMs.toULong())

/** The user answered the agent's questions, all of them. */
public fun RunMachine.resume(answers: List<ResumeEntry>, nowMs: Long = now()): Outputs =
    resume(answers, nowMs.toULong())

/** The user stops the turn. */
public fun RunMachine.cancel(nowMs: Long = now()): Outputs = cancel(nowMs.toULong())

/** The user stops one call. The others go on, and the model is told. */
public fun RunMachine.cancelCall(call: CallKey, nowMs: Long = now()): Outputs = cancelCall(call, nowMs.toULong())

/**
 * The user types during the turn. The message waits until the next hop begins, and is answered in this turn; if it
 * cannot be, [Event.SteeringRefused] gives it back.
 */
public fun RunMachine.steer(
    text: String,
    messageId: String = UUID.randomUUID().toString(),
    nowMs: Long = now(),
): Outputs = steer(messageId, text, nowMs.toULong())

/** As [steer], with an AG-UI message, where it is more than text. */
public fun RunMachine.steerMessage(message: JsonObject, nowMs: Long = now()): Outputs =
    steerMessage(message.toString(), nowMs.toULong())

/**
 * What the user was shown by a host that died, as AG-UI messages: for a run that was revived, before any other input.
 * What the run does not know of it stays, marked with `metadata.cut`, and the answer is asked for anew.
 */
public fun RunMachine.shown(messages: JsonArray, nowMs: Long = now()): Outputs =
    shown(messages.toString(), nowMs.toULong())

/** The app goes to the background; see [DevicePolicy]. */
public fun RunMachine.enteredBackground(nowMs: Long = now()): Outputs = enteredBackground(nowMs.toULong())

/** The app is in the foreground again. */
public fun RunMachine.enteredForeground(nowMs: Long = now()): Outputs = enteredForeground(nowMs.toULong())

/** The network that the server is reached over is gone. */
public fun RunMachine.networkLost(nowMs: Long = now()): Outputs = networkLost(nowMs.toULong())

/** There is a network, or another one took the place of the one before. */
public fun RunMachine.networkAvailable(nowMs: Long = now()): Outputs = networkAvailable(nowMs.toULong())

/** The app goes away: the outputs stop what it has begun, and give back what the user typed. */
public fun RunMachine.dispose(nowMs: Long = now()): Outputs = dispose(nowMs.toULong())

/** Time has passed: what is due is done. */
public fun RunMachine.timeout(nowMs: Long = now()): Outputs = timeout(nowMs.toULong())

private fun now(): Long = System.currentTimeMillis()

private const val SMALLEST = 16 * 1024

/** The library reads bytes where they lie, so they must lie outside of the heap; each thread has one place for them. */
private val place = ThreadLocal.withInitial { ByteBuffer.allocateDirect(SMALLEST) }

private fun direct(bytes: ByteArray, length: Int): ByteBuffer {
    var buffer = place.get()
    if (buffer.capacity() < length) {
        buffer = ByteBuffer.allocateDirect(Integer.highestOneBit(length) * 2)
        place.set(buffer)
    }
    buffer.clear()
    buffer.put(bytes, 0, length)
    buffer.flip()
    return buffer
}
