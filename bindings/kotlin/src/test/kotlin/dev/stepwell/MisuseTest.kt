package dev.stepwell

import java.io.ByteArrayOutputStream
import java.io.File
import java.io.PrintStream
import java.nio.file.Files
import kotlin.test.assertEquals
import org.jetbrains.kotlin.cli.common.ExitCode
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler
import org.junit.jupiter.api.Test

/** What a type checker must see: programs that do not compile. */
class MisuseTest {
    @Test
    fun wrongProgramsDoNotCompile() {
        val source = File("src/test/misuse/Misuse.kt")
        val expected = source.readLines().withIndex().filter { it.value.endsWith("// wrong") }.map { it.index + 1 }
        val folder = Files.createTempDirectory("misuse").toFile()
        // An app has no more than the package and what it depends on.
        val classes = System.getProperty("surefire.test.class.path") ?: System.getProperty("java.class.path")
        val apps = classes.split(File.pathSeparator).filterNot { it.endsWith("test-classes") }
        val said = ByteArrayOutputStream()
        val arguments = arrayOf("-jvm-target", "17", "-no-stdlib", "-no-reflect", "-cp", apps.joinToString(File.pathSeparator), "-d", "$folder", "$source")
        val ended = K2JVMCompiler().exec(PrintStream(said), *arguments)
        folder.deleteRecursively()
        val lines = Regex("""Misuse\.kt:(\d+):\d+: error""").findAll("$said").map { it.groupValues[1].toInt() }
        assertEquals(ExitCode.COMPILATION_ERROR to expected, ended to lines.distinct().sorted().toList(), "$said")
    }
}
