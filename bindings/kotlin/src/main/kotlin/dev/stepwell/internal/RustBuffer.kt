package dev.stepwell.internal

import com.sun.jna.Native
import com.sun.jna.Pointer
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** Bytes that Rust owns, at an address. */
internal class RustBuffer(@JvmField val capacity: Long, @JvmField var len: Long, @JvmField val data: Long) {
    /** The bytes that it holds. */
    fun content(): ByteBuffer = bytesAt(data, len)

    /** The bytes that it has room for. */
    fun room(): ByteBuffer = bytesAt(data, capacity)

    companion object {
        val EMPTY: RustBuffer = RustBuffer(0, 0, 0)

        fun alloc(size: ULong): RustBuffer =
            uniffiRustCall { status -> UniffiLib.ffi_stepwell_ffi_rustbuffer_alloc(size.toLong(), status) }
                .also { if (it.data == 0L) throw InternalException("there is no memory for $size bytes") }

        fun free(buffer: RustBuffer): Unit =
            uniffiRustCall { status -> UniffiLib.ffi_stepwell_ffi_rustbuffer_free(buffer, status) }
    }
}

/** Bytes of a direct buffer, which Rust reads in place during a call. */
internal class ForeignBytes(@JvmField val len: Int, @JvmField val data: Long)

/** Passes a direct buffer to Rust; there is no way back. */
internal object FfiConverterByRefBytes : FfiConverter<ByteBuffer, ForeignBytes> {
    override fun lower(value: ByteBuffer): ForeignBytes {
        require(value.isDirect) { "the bytes are in the heap: take `ByteBuffer.allocateDirect`" }
        val length = value.remaining()
        return ForeignBytes(length, if (length == 0) 0 else addressOf(value))
    }

    override fun lift(value: ForeignBytes): ByteBuffer = error(ONE_WAY)

    override fun read(buf: ByteBuffer): ByteBuffer = error(ONE_WAY)

    override fun write(value: ByteBuffer, buf: ByteBuffer): Unit = error(ONE_WAY)

    override fun allocationSize(value: ByteBuffer): ULong = error(ONE_WAY)

    private const val ONE_WAY = "bytes that are read in place are an argument, and nothing else"
}

/** Bytes of memory outside of the heap, in the order of bytes in which values cross. */
internal fun bytesAt(address: Long, length: Long): ByteBuffer =
    if (Foreign.isUsed) {
        Foreign.bytesAt(address, length)
    } else {
        Pointer(address).getByteBuffer(0, length).order(ByteOrder.BIG_ENDIAN)
    }

private fun addressOf(buffer: ByteBuffer): Long =
    if (Foreign.isUsed) Foreign.addressOf(buffer) else Pointer.nativeValue(Native.getDirectBufferPointer(buffer))
