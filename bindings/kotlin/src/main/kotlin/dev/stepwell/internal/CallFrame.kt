package dev.stepwell.internal

import dev.stepwell.internal.CallFrame.Companion.SUCCESS

/**
 * The memory of one call of Rust, outside of the heap: the status, the result, and the arguments that are structures. Each
 * thread has a few and uses them again. A call within a call, such as that of a tool that Rust called, has another one.
 */
internal abstract class CallFrame {
    /** The status of the call, which is [SUCCESS] before it. */
    abstract var code: Byte

    /** What went wrong, if the [code] is another one. */
    abstract fun error(): RustBuffer

    companion object {
        const val SUCCESS: Byte = 0

        private val frames = ThreadLocal.withInitial { Frames() }

        /** Takes the next frame of the thread, to be left again. */
        fun enter(): CallFrame = frames.get().enter()

        fun leave(): Unit = frames.get().leave()

        /** A frame for the arguments of a call that has no status. Rust has copied them when the call begins. */
        fun forArguments(): CallFrame = frames.get().next()
    }

    private class Frames {
        private var frames = arrayOfNulls<CallFrame>(4)
        private var depth = 0

        fun next(): CallFrame {
            if (depth == frames.size) frames = frames.copyOf(depth * 2)
            return frames[depth] ?: newFrame().also { frames[depth] = it }
        }

        fun enter(): CallFrame = next().also { depth++ }

        fun leave() {
            depth--
        }

        private fun newFrame(): CallFrame = if (Foreign.isUsed) ForeignFrame() else JnaFrame()
    }
}

/** Calls Rust, and throws what the call failed with. */
internal inline fun <U, E : Exception> uniffiRustCallWithError(
    errorHandler: UniffiRustCallStatusErrorHandler<E>,
    callback: (CallFrame) -> U,
): U {
    val frame = CallFrame.enter()
    try {
        val value = callback(frame)
        if (frame.code != CallFrame.SUCCESS) throw failed(errorHandler, frame)
        return value
    } finally {
        CallFrame.leave()
    }
}

/** The exception of a call, whose frame is ready for another call then. */
internal fun <E : Exception> failed(errorHandler: UniffiRustCallStatusErrorHandler<E>, frame: CallFrame): Exception {
    val (code, error) = frame.code to frame.error()
    frame.code = SUCCESS
    return when {
        code == UNIFFI_CALL_ERROR -> errorHandler.lift(error)
        // The message of a panic, if Rust could still write it.
        code == UNIFFI_CALL_UNEXPECTED_ERROR && error.len > 0 -> InternalException(FfiConverterString.lift(error))
        else -> InternalException("Rust panic")
    }
}
