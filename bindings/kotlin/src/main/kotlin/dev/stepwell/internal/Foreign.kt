package dev.stepwell.internal

import com.sun.jna.Native
import com.sun.jna.NativeLibrary
import com.sun.jna.Pointer
import java.lang.invoke.MethodHandle
import java.lang.invoke.MethodHandles
import java.lang.invoke.MethodType
import java.lang.reflect.Method
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.function.ObjLongConsumer

/**
 * Calls of Rust by Java's own `java.lang.foreign`, on a JVM 22 or later: a hundred times cheaper than JNA's. The classes
 * are looked up by name, so the package is one for all JVMs and for Android, and a call has nothing of that: the JVM
 * compiles the method handles. `-Dstepwell.foreign=false` turns it off.
 *
 * Rust's calls of the app's code still come by JNA, except those that continue a suspended call.
 */
internal object Foreign {
    private val names: Names? = namesOrNull()

    /** Whether calls are made this way. */
    @JvmField
    val isUsed: Boolean = names != null

    private val memory: MethodHandle? = names?.memory()
    private val address: MethodHandle? = names?.address()

    /** The function that Rust calls when a suspended call can continue. */
    @JvmField
    val continuation: Any? = names?.continuation()

    private val functions = arrayOfNulls<Any>(MAX_FUNCTIONS)
    private val library by lazy { NativeLibrary.getInstance(findLibraryName("stepwell_ffi")) }

    /** Returns a function of the library, for a handle. */
    fun function(number: Int, name: String): Any = functions[number] ?: find(number, name)

    private fun find(number: Int, name: String): Any =
        known().segmentAt(Pointer.nativeValue(library.getFunction(name))).also { functions[number] = it }

    /**
     * Returns the handle of the functions of a kind, written as letters: the result, then the arguments; see [layoutOf].
     * The handle takes the function first, then the memory of the result if that is a buffer.
     */
    fun handle(kind: String): MethodHandle = known().handle(kind)

    fun bytesAt(address: Long, length: Long): ByteBuffer = memory!!.invokeExact(address, length) as ByteBuffer

    fun addressOf(buffer: ByteBuffer): Long = address!!.invokeExact(buffer) as Long

    /** Allocates the memory of a frame. */
    fun frame(bytes: Long): Any = known().allocated(bytes)

    /** Returns a part of a frame's memory. */
    fun part(of: Any, offset: Long, bytes: Long): Any = known().part(of, offset, bytes)

    /** Returns what takes the memory of a frame for a result. */
    fun resultIn(part: Any): Any = known().resultIn(part)

    private fun known() = checkNotNull(names) { "this JVM has no `java.lang.foreign`" }

    private fun namesOrNull(): Names? {
        val version = System.getProperty("java.specification.version")?.toIntOrNull() ?: return null
        val isOff = System.getProperty("stepwell.foreign") == "false"
        // Not all pointers of such a machine have 8 bytes.
        if (version < FIRST_VERSION || isOff || Native.POINTER_SIZE != Long.SIZE_BYTES) return null
        return try {
            Names().also { it.handle("LL") }
        } catch (missing: ReflectiveOperationException) {
            // The app forbids it, or another JVM has it elsewhere.
            null
        }
    }

    private const val FIRST_VERSION = 22

    /** More than the library has. */
    private const val MAX_FUNCTIONS = 1024
}

/** The methods of `java.lang.foreign`. */
private class Names {
    private val segment = named("MemorySegment")
    private val layout = named("MemoryLayout")
    private val descriptor = named("FunctionDescriptor")
    private val allocator = named("SegmentAllocator")
    private val arena = named("Arena")
    private val options = java.lang.reflect.Array.newInstance(named("Linker\$Option"), 0)
    private val lookup = MethodHandles.publicLookup()

    private val linker = named("Linker").getMethod("nativeLinker").invoke(null)
    private val downcall = named("Linker").getMethod("downcallHandle", descriptor, options.javaClass)
    private val upcall =
        named("Linker").getMethod("upcallStub", MethodHandle::class.java, descriptor, arena, options.javaClass)
    private val slice: Method = segment.getMethod("asSlice", LONG, LONG)
    private val buffer = struct("LL", "ADDRESS")
    private val bytes = layoutArray(value("JAVA_INT"), padding(Int.SIZE_BYTES.toLong()), value("ADDRESS")).let(::struct)

    private fun named(name: String): Class<*> = Class.forName("java.lang.foreign.$name")

    private fun value(name: String): Any = named("ValueLayout").getField(name).get(null)

    private fun padding(bytes: Long): Any = layout.getMethod("paddingLayout", LONG).invoke(null, bytes)

    private fun struct(longs: String, last: String): Any =
        struct(layoutArray(*longs.map { value("JAVA_LONG") }.toTypedArray(), value(last)))

    private fun struct(members: Any): Any = layout.getMethod("structLayout", members.javaClass).invoke(null, members)

    private fun layoutArray(vararg layouts: Any): Any =
        java.lang.reflect.Array.newInstance(layout, layouts.size).also { array ->
            layouts.forEachIndexed { index, one -> java.lang.reflect.Array.set(array, index, one) }
        }

    /** What a letter of a function's kind means. */
    private fun layoutOf(letter: Char): Any = when (letter) {
        'L' -> value("JAVA_LONG")
        'I' -> value("JAVA_INT")
        'H' -> value("JAVA_SHORT")
        'B' -> value("JAVA_BYTE")
        'D' -> value("JAVA_DOUBLE")
        'F' -> value("JAVA_FLOAT")
        // The status, and the function that continues a suspended call.
        'T', 'C' -> value("ADDRESS")
        'R' -> buffer
        'Y' -> bytes
        else -> error("there is no kind of value `$letter`")
    }

    private fun described(kind: String): Any {
        val arguments = layoutArray(*kind.drop(1).map(::layoutOf).toTypedArray())
        if (kind[0] == 'V') return descriptor.getMethod("ofVoid", arguments.javaClass).invoke(null, arguments)
        return descriptor.getMethod("of", layout, arguments.javaClass).invoke(null, layoutOf(kind[0]), arguments)
    }

    fun handle(kind: String): MethodHandle {
        val handle = downcall.invoke(linker, described(kind), options) as MethodHandle
        // The package is compiled without these types.
        val plain = handle.type().parameterList().map { if (it.isPrimitive) it else Any::class.java }
        val result = if (kind[0] == 'R' || kind[0] == 'V') Any::class.java else handle.type().returnType()
        return handle.asType(MethodType.methodType(result, plain))
    }

    fun continuation(): Any {
        val resume = ObjLongConsumer<Byte> { result, continuation -> resumed(continuation, result) }
        val accept = MethodType.methodType(Void.TYPE, Any::class.java, LONG)
        val called = lookup.findVirtual(ObjLongConsumer::class.java, "accept", accept).bindTo(resume)
        val swapped = MethodType.methodType(Void.TYPE, LONG, Any::class.java)
        val type = MethodType.methodType(Void.TYPE, LONG, Byte::class.javaPrimitiveType)
        val target = MethodHandles.permuteArguments(called, swapped, 1, 0).asType(type)
        return upcall.invoke(linker, target, described("VLB"), arena.getMethod("global").invoke(null), options)
    }

    /** The bytes at an address, with a length. */
    fun memory(): MethodHandle {
        val all = segment.getMethod("reinterpret", LONG).invoke(segment.getField("NULL").get(null), Long.MAX_VALUE)
        val part = lookup.findVirtual(segment, "asSlice", MethodType.methodType(segment, LONG, LONG)).bindTo(all)
        val buffer = lookup.findVirtual(segment, "asByteBuffer", MethodType.methodType(ByteBuffer::class.java))
        return MethodHandles.filterReturnValue(part, buffer)
    }

    /** The address of a direct buffer's position. */
    fun address(): MethodHandle {
        val of = MethodType.methodType(segment, java.nio.Buffer::class.java)
        val segmentOf = lookup.findStatic(segment, "ofBuffer", of)
        val address = lookup.findVirtual(segment, "address", MethodType.methodType(LONG))
        return MethodHandles.filterReturnValue(segmentOf, address)
            .asType(MethodType.methodType(LONG, ByteBuffer::class.java))
    }

    fun segmentAt(address: Long): Any = segment.getMethod("ofAddress", LONG).invoke(null, address)

    fun allocated(bytes: Long): Any =
        arena.getMethod("allocate", LONG, LONG).invoke(arena.getMethod("ofAuto").invoke(null), bytes, ALIGNMENT)

    fun part(of: Any, offset: Long, bytes: Long): Any = slice.invoke(of, offset, bytes)

    fun resultIn(part: Any): Any = allocator.getMethod("prefixAllocator", segment).invoke(null, part)

    private companion object {
        const val ALIGNMENT = 8L
        val LONG: Class<*> = Long::class.javaPrimitiveType!!
    }
}

/** Continues a suspended call, on Rust's thread. An exception would end the process. */
private fun resumed(continuation: Long, result: Byte) {
    try {
        uniffiRustFutureContinuationCallbackImpl.callback(continuation, result)
    } catch (failed: Throwable) {
        Thread.currentThread().run { uncaughtExceptionHandler.uncaughtException(this, failed) }
    }
}

/** The memory of a call by [Foreign]. */
internal class ForeignFrame : CallFrame() {
    private val memory = Foreign.frame(BYTES)
    private val bytes = bytesOf(memory)

    /** The status, as an argument. */
    @JvmField
    val status: Any = Foreign.part(memory, 0, STATUS_BYTES)

    /** Where a result is written that is a buffer. */
    @JvmField
    val result: Any = Foreign.resultIn(Foreign.part(memory, RESULT.toLong(), BUFFER_BYTES.toLong()))
    private val buffers = Array(ARGUMENTS) { Foreign.part(memory, offset(it).toLong(), BUFFER_BYTES.toLong()) }
    private val inPlace = Array(ARGUMENTS) { Foreign.part(memory, offset(it).toLong(), IN_PLACE_BYTES) }

    override var code: Byte
        get() = bytes.get(0)
        set(value) {
            bytes.put(0, value)
        }

    override fun error(): RustBuffer = bufferAt(8)

    /** The result of a call, where it is a buffer. */
    fun result(): RustBuffer = bufferAt(RESULT)

    /** Writes an argument. */
    fun buffer(at: Int, buffer: RustBuffer): Any {
        val offset = offset(at)
        bytes.putLong(offset, buffer.capacity)
        bytes.putLong(offset + 8, buffer.len)
        bytes.putLong(offset + 16, buffer.data)
        return buffers[at]
    }

    fun bytes(at: Int, given: ForeignBytes): Any {
        val offset = offset(at)
        bytes.putInt(offset, given.len)
        bytes.putLong(offset + 8, given.data)
        return inPlace[at]
    }

    private fun bufferAt(offset: Int) =
        RustBuffer(bytes.getLong(offset), bytes.getLong(offset + 8), bytes.getLong(offset + 16))

    private companion object {
        const val STATUS_BYTES = 32L
        const val BUFFER_BYTES = 24
        const val IN_PLACE_BYTES = 16L
        const val RESULT = 32

        /** No function takes more structures. */
        const val ARGUMENTS = 8
        const val BYTES = 64L + ARGUMENTS * BUFFER_BYTES

        fun offset(argument: Int) = 64 + argument * BUFFER_BYTES

        fun bytesOf(memory: Any): ByteBuffer {
            val method = Class.forName("java.lang.foreign.MemorySegment").getMethod("asByteBuffer")
            return (method.invoke(memory) as ByteBuffer).order(ByteOrder.nativeOrder())
        }
    }
}
