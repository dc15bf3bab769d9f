@file:JvmName("Machines")

package dev.stepwell

import java.nio.ByteBuffer

// The sans-IO door with Kotlin's own types: byte arrays, and times as `System.currentTimeMillis` has them.

/** The effect's id, to answer it by. */
public val Effect.id: String
    get() = when (this) {
        is Effect.CreateRun -> id
        is Effect.OpenStream -> id
        is Effect.CloseStream -> id
        is Effect.AskApproval -> id
        is Effect.RunTool -> id
        is Effect.CancelTool -> id
        is Effect.Persist -> id
        is Effect.Unknown -> id
    }

/** Starts the turn. */
public fun RunMachine.start(start: Start, nowMs: Long = now()): Outputs = start(start, nowMs.toULong())

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

/** The person allows the call. */
public fun RunMachine.approve(effect: String, nowMs: Long = now()): Outputs = approve(effect, nowMs.toULong())

/** The person does not allow the call. */
public fun RunMachine.deny(effect: String, reason: String? = null, nowMs: Long = now()): Outputs =
    deny(effect, reason, nowMs.toULong())

/** The person stops the turn. */
public fun RunMachine.cancel(nowMs: Long = now()): Outputs = cancel(nowMs.toULong())

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
