package dev.stepwell

import kotlin.test.assertEquals
import kotlin.test.assertTrue
import org.junit.jupiter.api.Test

class TracesTest {
    /** In a process of its own: spans go to one place in each. */
    @Test
    fun theProgramWithTraces() {
        MockLlm().use { mock ->
            val java = ProcessHandle.current().info().command().get()
            val classes = System.getProperty("surefire.test.class.path") ?: System.getProperty("java.class.path")
            val library = "-Djna.library.path=${System.getProperty("jna.library.path")}"
            val program = ProcessBuilder(java, library, "-cp", classes, "traced.TracedKt", mock.baseUrl)
            val running = program.redirectErrorStream(true).start()
            val said = running.inputStream.reader().readLines()
            assertEquals(0, running.waitFor(), said.joinToString("\n"))
            val spans = listOf("chat gpt-4o-mini", "chat gpt-4o-mini", "execute_tool get_secret_number", "invoke_agent")
            for (span in spans) assertTrue(said.any { it.startsWith("$span {") }, said.joinToString("\n"))
            val turn = said.first { it.startsWith("invoke_agent {") }
            assertTrue("\"gen_ai.provider.name\":\"openai\"" in turn && "Alice" !in turn, turn)
        }
    }
}
