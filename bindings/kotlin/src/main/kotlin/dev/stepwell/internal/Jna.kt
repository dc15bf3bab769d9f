package dev.stepwell.internal

import com.sun.jna.Memory
import com.sun.jna.Native
import com.sun.jna.Pointer
import com.sun.jna.Structure

// Calls by JNA: on Android, and on a JVM before 22.

/** [RustBuffer] as a structure of JNA's: in Rust's calls of the app. */
@Structure.FieldOrder("capacity", "len", "data")
internal open class JnaRustBuffer : Structure() {
    @JvmField var capacity: Long = 0
    @JvmField var len: Long = 0
    @JvmField var data: Pointer? = null

    class ByValue : JnaRustBuffer(), Structure.ByValue

    fun setValue(other: RustBuffer) {
        capacity = other.capacity
        len = other.len
        data = other.data.takeIf { it != 0L }?.let { Pointer(it) }
    }

    fun plain(): RustBuffer = RustBuffer(capacity, len, Pointer.nativeValue(data))
}

internal fun RustBuffer.jna(): JnaRustBuffer.ByValue = JnaRustBuffer.ByValue().also { it.setValue(this) }

/** Lifts an argument of Rust's call of the app. */
internal fun <T> FfiConverter<T, RustBuffer>.lift(value: JnaRustBuffer): T = lift(value.plain())

/** The status that the app's code returns to Rust. */
@Structure.FieldOrder("code", "error_buf")
internal open class JnaCallStatus : Structure() {
    @JvmField var code: Byte = 0

    @Suppress("ktlint:standard:property-naming")
    @JvmField var error_buf: JnaRustBuffer.ByValue = JnaRustBuffer.ByValue()

    class ByValue : JnaCallStatus(), Structure.ByValue

    companion object {
        fun create(code: Byte, error: RustBuffer): ByValue = ByValue().also {
            it.code = code
            it.error_buf = error.jna()
        }
    }
}

/** An argument: JNA passes its memory, which the frame writes itself. */
@Structure.FieldOrder("first", "second", "third")
internal class JnaArgument : Structure(), Structure.ByValue {
    @JvmField var first: Long = 0
    @JvmField var second: Long = 0
    @JvmField var third: Pointer? = null

    // JNA would read and write the fields by reflection.
    override fun read(): Unit = Unit

    override fun write(): Unit = Unit
}

/** Bytes that are read in place, as an argument. */
@Structure.FieldOrder("len", "data")
internal class JnaBytes : Structure(), Structure.ByValue {
    @JvmField var len: Int = 0
    @JvmField var data: Pointer? = null

    override fun read(): Unit = Unit

    override fun write(): Unit = Unit
}

/** A result, read from the memory that JNA has for it. */
@Structure.FieldOrder("first", "second", "third")
internal class JnaResult(memory: Pointer?) : Structure(memory), Structure.ByValue {
    @JvmField var first: Long = 0
    @JvmField var second: Long = 0
    @JvmField var third: Pointer? = null

    constructor() : this(null)

    override fun read() {
        first = pointer.getLong(0)
        second = pointer.getLong(8)
        third = pointer.getPointer(16)
    }

    override fun write(): Unit = Unit

    fun plain(): RustBuffer = RustBuffer(first, second, Pointer.nativeValue(third))
}

/** The memory of a call by JNA. */
internal class JnaFrame : CallFrame() {
    val status: Pointer = Memory(STATUS_BYTES).also { it.clear() }
    private val buffers = Array(ARGUMENTS) { lazy(LazyThreadSafetyMode.NONE) { JnaArgument() } }
    private val bytes by lazy(LazyThreadSafetyMode.NONE) { JnaBytes() }

    override var code: Byte
        get() = status.getByte(0)
        set(value) = status.setByte(0, value)

    override fun error(): RustBuffer =
        RustBuffer(status.getLong(8), status.getLong(16), Pointer.nativeValue(status.getPointer(24)))

    fun buffer(at: Int, buffer: RustBuffer): JnaArgument = buffers[at].value.also {
        val memory = it.pointer
        memory.setLong(0, buffer.capacity)
        memory.setLong(8, buffer.len)
        memory.setPointer(16, if (buffer.data == 0L) null else Pointer(buffer.data))
    }

    fun bytes(given: ForeignBytes): JnaBytes = bytes.also {
        val memory = it.pointer
        memory.setInt(0, given.len)
        memory.setPointer(Native.POINTER_SIZE.toLong(), if (given.data == 0L) null else Pointer(given.data))
    }

    private companion object {
        /** A byte, and a buffer after it. */
        const val STATUS_BYTES = 32L

        /** No function takes more buffers. */
        const val ARGUMENTS = 8
    }
}
