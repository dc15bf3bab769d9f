package dev.stepwell.example

import dev.stepwell.MockLlm
import java.io.File
import kotlin.test.assertEquals
import org.junit.Test

/** A program that uses the package, as R8 leaves it by the package's rules. */
class ShrunkTest {
    @Test
    fun whatR8LeavesDoesTheSame() {
        val calls = """{"steps":[${call("get_secret_number", """{"name":"alice"}""")},${call("ask", "{}")}]}"""
        val trip = """{"steps":[{"text":"{\"city\":\"Oslo\",\"days\":3}"}]}"""
        MockLlm(calls, MockLlm.text("It is 42."), trip, """{"status":401,"error":"No"}""").use { mock ->
            val program = ProcessBuilder(
                File(System.getProperty("java.home"), "bin/java").path,
                "-Djna.library.path=" + System.getProperty("jna.library.path"),
                "-cp",
                System.getProperty("shrunk"),
                "shrunk.ShrunkKt",
                mock.baseUrl,
            ).redirectError(ProcessBuilder.Redirect.INHERIT).start()
            val printed = program.inputStream.bufferedReader().readLines()
            assertEquals(listOf("It is 42.", "3 days in Oslo", "AUTHENTICATION", "1", "true"), printed)
            assertEquals(0, program.waitFor())
        }
    }

    private fun call(tool: String, arguments: String) = """{"tool_call":{"name":"$tool","arguments":$arguments}}"""
}
