@file:JvmName("Machines")

package dev.stepwell

import java.nio.ByteBuffer
import java.time.Instant
import java.util.UUID
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

// The sans-IO API with byte arrays, and with the system's clock if no time is passed.

/** Starts the turn. */
public fun RunMachine.start(start: Start): Outputs = start(start, Instant.now())

/** The backend created a run. */
public fun RunMachine.runCreated(effect: String, runId: String): Outputs =
    runCreated(effect, runId, Instant.now())

/** The backend did not create a run. */
public fun RunMachine.runNotCreated(effect: String, message: String): Outputs =
    runNotCreated(effect, message, Instant.now())

/** The app shortened the conversation to these messages, with `summary` instead of the others. */
public fun RunMachine.contextTrimmed(
    effect: String,
    keep: List<String>,
    summary: String? = null,
): Outputs = contextTrimmed(effect, keep, Instant.now(), summary)

/** There is no way to shorten the conversation: the turn fails. */
public fun RunMachine.contextNotTrimmed(effect: String, message: String): Outputs =
    contextNotTrimmed(effect, message, Instant.now())

/** The app chose the model of the next hop, by its number: 0 is the configuration's own, 1 the first of its fallback. */
public fun RunMachine.modelChosen(effect: String, model: Int): Outputs = modelChosen(effect, model, Instant.now())

/** The app could not choose a model: the turn continues with the one that it has. */
public fun RunMachine.modelNotChosen(effect: String, message: String): Outputs =
    modelNotChosen(effect, message, Instant.now())

/** A model failed in another turn: until then it is asked only if all others have failed too. */
public fun RunMachine.modelResting(model: Int, until: Instant): Outputs = modelResting(model, until, Instant.now())

/** The app decoded the typed answer, which is accepted. */
public fun RunMachine.outputDecoded(effect: String): Outputs = outputDecoded(effect, Instant.now())

/** The app cannot decode the typed answer. The model reads the reason, and is asked again if retries are left. */
public fun RunMachine.outputRefused(effect: String, reason: String): Outputs =
    outputRefused(effect, reason, Instant.now())

/** The key and the headers of the next request. */
public fun RunMachine.authorized(
    effect: String,
    key: String?,
    headers: Map<String, String> = emptyMap(),
): Outputs = authorized(effect, key, Instant.now(), headers)

/** There is no key for the request: the turn fails. */
public fun RunMachine.notAuthorized(effect: String, message: String): Outputs =
    notAuthorized(effect, message, Instant.now())

/** A hook answered. An answer that changes something other than the hook's subject is not an answer to the effect. */
public fun RunMachine.hookAnswered(effect: String, answer: HookAnswer): Outputs =
    hookAnswered(effect, answer, Instant.now())

/** The provider answered with a 2xx status: the body follows. */
public fun RunMachine.opened(effect: String, contentType: String?): Outputs =
    opened(effect, contentType, Instant.now())

/** The provider answered with any other status. */
public fun RunMachine.refused(
    effect: String,
    status: Int,
    body: ByteArray,
    retryAfter: Duration? = null,
    now: Instant = Instant.now(),
): Outputs = refused(effect, status, direct(body, body.size), now, retryAfter)

/** The provider answered with any other status, and gave no wait. For Java. */
public fun RunMachine.refused(effect: String, status: Int, body: ByteArray): Outputs =
    refused(effect, status, direct(body, body.size), Instant.now())

/** The provider answered with any other status, and asked to wait this long. For Java. */
public fun RunMachine.refused(effect: String, status: Int, body: ByteArray, retryAfter: java.time.Duration): Outputs =
    refused(effect, status, body, retryAfter.toKotlinDuration())

/** No answer came at all. */
public fun RunMachine.connectionFailed(effect: String, message: String): Outputs =
    connectionFailed(effect, message, Instant.now())

/** Bytes of the body: the first [length] of [bytes], cut anywhere. */
public fun RunMachine.receive(
    effect: String,
    bytes: ByteArray,
    length: Int = bytes.size,
    now: Instant = Instant.now(),
): Outputs = receive(effect, direct(bytes, length), now)

/** The body ended as it should. */
public fun RunMachine.ended(effect: String): Outputs = ended(effect, Instant.now())

/** The connection broke within the body. */
public fun RunMachine.lost(effect: String, message: String): Outputs =
    lost(effect, message, Instant.now())

/** A tool returned a result. */
public fun RunMachine.toolFinished(effect: String, content: String): Outputs =
    toolFinished(effect, content, Instant.now())

/** A tool failed; the model is shown the message. */
public fun RunMachine.toolFailed(
    effect: String,
    message: String,
    kind: ToolFailureKind = ToolFailureKind.ERROR,
): Outputs = toolFailed(effect, message, Instant.now(), kind)

/** The tool has begun something whose result comes later, with [toolFinished] or [toolFailed]. */
public fun RunMachine.toolDeferred(effect: String): Outputs = toolDeferred(effect, Instant.now())

/** A running tool reports its progress, from 0 to 1 if that is known, and what it is doing. */
public fun RunMachine.toolProgress(effect: String, fraction: Double? = null, message: String? = null): Outputs =
    toolProgress(effect, fraction, message, Instant.now())

/** A running tool shows its partial result, which replaces the previous one. */
public fun RunMachine.toolPartialResult(effect: String, content: String): Outputs =
    toolPartialResult(effect, content, Instant.now())

/** A running tool asks the user: its first question is number 0. */
@JvmName("toolAsks")
public fun RunMachine.toolAsks(effect: String, number: Int, question: Question): Outputs =
    toolAsks(effect, number, question, Instant.now())

/**
 * The user answered a tool's question.
 *
 * @throws StepwellException.Misuse if the answer does not fit the question's schema; the question stays open
 */
public fun RunMachine.answer(effect: String, value: JsonElement): Outputs =
    answer(effect, value, Instant.now())

/** The user does not answer a tool's question. The reason is for the tool. */
public fun RunMachine.decline(effect: String, reason: String? = null): Outputs =
    decline(effect, reason, Instant.now())

/**
 * The user allows the call. With [arguments] the call is run with these instead of the model's, and the model is
 * informed.
 *
 * @throws StepwellException.Misuse if the arguments do not fit the tool; the approval stays open
 */
public fun RunMachine.approve(effect: String, arguments: JsonObject? = null): Outputs =
    approve(effect, Instant.now(), arguments)

/** The user does not allow the call. */
public fun RunMachine.deny(effect: String, reason: String? = null): Outputs =
    deny(effect, reason, Instant.now())

/** Blocks are stored. */
public fun RunMachine.persisted(effect: String): Outputs = persisted(effect, Instant.now())

/** Blocks could not be stored. */
public fun RunMachine.persistFailed(effect: String, message: String): Outputs =
    persistFailed(effect, message, Instant.now())

/** The user answered all of the agent's questions. */
public fun RunMachine.resume(answers: List<ResumeEntry>): Outputs =
    resume(answers, Instant.now())

/** The user stops the turn. */
public fun RunMachine.cancel(): Outputs = cancel(Instant.now())

/** The user stops one call. The other calls continue, and the model is informed. */
public fun RunMachine.cancelCall(call: CallKey): Outputs = cancelCall(call, Instant.now())

/**
 * The user sends a message during the turn. The message waits until the next hop begins, and is answered in this turn;
 * if that is not possible, [Event.SteeringRefused] returns it.
 */
public fun RunMachine.steer(
    text: String,
    messageId: String = UUID.randomUUID().toString(),
): Outputs = steer(messageId, text, Instant.now())

/** As [steer], with an AG-UI message, where it is more than text. */
public fun RunMachine.steerMessage(message: JsonObject): Outputs =
    steerMessage(message, Instant.now())

/**
 * The messages that the user was shown by a host that died, in AG-UI's form: for a run that was revived, before any
 * other input. What the run does not know of them stays, marked with `metadata.cut`, and the answer is asked for again.
 */
public fun RunMachine.shown(messages: JsonArray): Outputs =
    shown(messages, Instant.now())

/** The app goes to the background; see [DevicePolicy]. */
public fun RunMachine.enteredBackground(): Outputs = enteredBackground(Instant.now())

/** The app is in the foreground again. */
public fun RunMachine.enteredForeground(): Outputs = enteredForeground(Instant.now())

/** The network that the server is reached over is gone. */
public fun RunMachine.networkLost(): Outputs = networkLost(Instant.now())

/** There is a network, or another one replaced it. */
public fun RunMachine.networkAvailable(): Outputs = networkAvailable(Instant.now())

/** The app releases the run: the outputs stop the work that the run began, and return what the user typed. */
public fun RunMachine.dispose(): Outputs = dispose(Instant.now())

/** Time has passed: the run handles the timers that are due. */
public fun RunMachine.timeout(): Outputs = timeout(Instant.now())

private const val SMALLEST = 16 * 1024

/** A buffer for bytes, one for each thread: the library reads bytes in place, so they must be outside of the heap. */
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
