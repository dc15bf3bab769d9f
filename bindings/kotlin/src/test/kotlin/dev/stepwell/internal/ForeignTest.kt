package dev.stepwell.internal

import dev.stepwell.Event
import dev.stepwell.RunConfig
import dev.stepwell.RunMachine
import dev.stepwell.SessionStore
import dev.stepwell.Start
import dev.stepwell.StepwellException
import dev.stepwell.ThreadKey
import dev.stepwell.id
import dev.stepwell.opened
import dev.stepwell.receive
import dev.stepwell.start
import java.io.File
import java.util.Properties
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assumptions.assumeTrue
import org.junit.jupiter.api.Test

/** Calls of Rust on a newer JVM, and on this one. */
class ForeignTest {
    @Test
    fun itIsUsedWhereTheJvmHasIt() =
        assertEquals(System.getProperty("java.specification.version").toInt() >= FIRST_VERSION, Foreign.isUsed)

    @Test
    fun aProgramDoesTheSameEitherWay() {
        val here = said(File(System.getProperty("java.home")))
        assertEquals(EXPECTED, here.drop(1))
        val newer = newerJvm()
        assumeTrue(newer != null, "this machine has no JVM $FIRST_VERSION or later")
        assertEquals(listOf("true") + EXPECTED, said(newer!!))
        assertEquals(listOf("false") + EXPECTED, said(newer, "-Dstepwell.foreign=false"))
    }

    @Test
    fun aCallWithinACallHasMemoryOfItsOwn() {
        val outer = CallFrame.enter()
        val inner = CallFrame.enter()
        inner.code = 1
        assertEquals(CallFrame.SUCCESS, outer.code)
        inner.code = CallFrame.SUCCESS
        CallFrame.leave()
        assertEquals(inner, CallFrame.enter())
        CallFrame.leave()
        CallFrame.leave()
        assertEquals(outer, CallFrame.forArguments())
    }

    /** The JVMs are installed next to one another. */
    private fun newerJvm(): File? = File(System.getProperty("java.home")).canonicalFile.parentFile.listFiles().orEmpty()
        .sorted().firstOrNull { version(it) >= FIRST_VERSION && File(it, "bin/java").canExecute() }

    private fun version(home: File): Int {
        val release = File(home, "release").takeIf { it.isFile } ?: return 0
        val version = Properties().apply { release.reader().use { load(it) } }.getProperty("JAVA_VERSION")
        return version.orEmpty().trim('"').substringBefore('.').toIntOrNull() ?: 0
    }

    private fun said(jvm: File, vararg options: String): List<String> {
        val classes = System.getProperty("surefire.test.class.path") ?: System.getProperty("java.class.path")
        val library = System.getProperty("jna.library.path")?.let { listOf("-Djna.library.path=$it") }.orEmpty()
        val program = listOf("$jvm/bin/java") + options + library + listOf("-cp", classes, "dev.stepwell.internal.ForeignProgram")
        val process = ProcessBuilder(program).redirectError(ProcessBuilder.Redirect.INHERIT).start()
        process.outputStream.close()
        val lines = process.inputStream.bufferedReader().readLines()
        assertEquals(0, process.waitFor(), "$lines")
        return lines
    }

    private companion object {
        const val FIRST_VERSION = 22
        val EXPECTED = listOf("Hé, 漢字 🙂", "the configuration names no such provider: true", "null", "100 calls", "a dead machine")
    }
}

/** All kinds of calls: with texts, bytes in place, times, errors, suspended ones, many threads. */
internal object ForeignProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        println(Foreign.isUsed)
        val machine = RunMachine(RunConfig("openai-compatible", "mock", baseUrl = "http://localhost/v1"), "thread")
        val effect = machine.start(Start("run", "Hi")).effects.single().id
        machine.opened(effect, "text/event-stream")
        val frame = """data: {"choices":[{"index":0,"delta":{"content":"Hé, 漢字 🙂"}}]}""" + "\n\n"
        val events = machine.receive(effect, frame.toByteArray()).events
        println(events.filterIsInstance<Event.TextMessageContent>().joinToString("") { it.delta })
        val wrong = assertFailsWith<StepwellException.Misuse> { RunMachine(RunConfig("none", "mock"), "thread") }
        println("the configuration names no such provider: ${"none" in wrong.message}")
        runBlocking(Dispatchers.Default) {
            val store = SessionStore.inMemory()
            println(store.thread(ThreadKey("absent")))
            val calls = List(10) { async { List(10) { store.thread(ThreadKey("absent")) } } }.awaitAll().flatten()
            println("${calls.count { it == null }} calls")
        }
        machine.close()
        assertFailsWith<IllegalStateException> { machine.hop() }
        println("a dead machine")
    }
}
