package dev.stepwell

import java.io.File
import java.io.InterruptedIOException
import java.net.SocketTimeoutException
import java.time.Duration
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertIs
import kotlin.test.assertTrue
import okhttp3.OkHttpClient
import org.junit.jupiter.api.Test

/** The guides show the programs that are compiled and run here. */
class GuideTest {
    private fun shown(guide: String): String {
        val after = File("../../docs/$guide.md").readText().substringAfter("## A first program\n")
        return after.substringAfter("```kotlin\n").substringBefore("```")
    }

    private fun check(guide: String, program: String) {
        val source = File("../../examples/$program").readText()
        assertEquals(source, shown(guide))
        assertTrue(source.lines().size <= 31, "$program is no longer short")
    }

    @Test
    fun theFirstProgramOfKotlin() = check("kotlin", "kotlin/Ask.kt")

    @Test
    fun theFirstProgramOfAndroid() {
        check("android", "android/hello/HelloOkHttp.kt")
        MockLlm(MockLlm.text("Hello, you.")).use { mock ->
            val said = StringBuilder()
            hello.ask("Hi", mock.baseUrl, OkHttpClient()) { said.append(it) }
            assertEquals("Hello, you.", said.toString())
            assertEquals(0, mock.failures().size)
        }
    }

    /** It tries nothing again: a busy server is said to be one. */
    @Test
    fun theFirstProgramOfAndroidSaysWhatGoesWrong() {
        val client = OkHttpClient()
        fun wrong(baseUrl: String, http: OkHttpClient = client) =
            runCatching { hello.ask("Hi", baseUrl, http) {} }.exceptionOrNull()
        for (case in FirstContact.cases) case.played { baseUrl ->
            val said = wrong(baseUrl)?.message.orEmpty()
            val expected = if (case.hops == null) "connect" else "\"message\""
            assertContains(said.lowercase(), expected, message = case.name)
        }
        val impatient = client.newBuilder().readTimeout(Duration.ofMillis(50)).build()
        MockLlm(MockLlm.stall("Well")).use { assertIs<SocketTimeoutException>(wrong(it.baseUrl, impatient)) }
        MockLlm("""{"steps":[{"text":"Well"},{"error_event":"out of order"}]}""").use {
            assertContains(wrong(it.baseUrl)?.message.orEmpty(), "out of order")
        }
        MockLlm(MockLlm.stall("Well")).use { mock ->
            // What was said is shown at once; whoever stops the thread ends it.
            val said = StringBuilder()
            val stopped = runCatching {
                hello.ask("Hi", mock.baseUrl, client) {
                    said.append(it)
                    Thread.currentThread().interrupt()
                }
            }
            Thread.interrupted()
            assertEquals("Well", said.toString())
            assertIs<InterruptedIOException>(stopped.exceptionOrNull())
        }
    }

    /** The module for Android is packed with the versions that are tested here. */
    @Test
    fun androidHasTheSameVersions() {
        val pom = File("pom.xml").readText()
        fun ofPom(artifact: String) =
            pom.substringAfter("<artifactId>$artifact</artifactId>").substringAfter("<version>").substringBefore("</version>")
        val catalog = File("../android/gradle/libs.versions.toml").readLines()
        fun ofCatalog(name: String) = catalog.first { it.startsWith("$name = ") }.substringAfter('"').substringBefore('"')
        assertEquals(pom.substringAfter("<kotlin.version>").substringBefore("</"), ofCatalog("kotlin"))
        assertEquals(ofPom("kotlinx-coroutines-core"), ofCatalog("coroutines"))
        assertEquals(ofPom("kotlinx-serialization-json"), ofCatalog("serialization"))
        assertEquals(ofPom("jna"), ofCatalog("jna"))
        assertEquals(ofPom("okhttp-jvm"), ofCatalog("okhttp"))
        val properties = File("../android/gradle.properties").readLines()
        assertEquals(ofPom("stepwell-kotlin"), properties.first { it.startsWith("stepwell.version=") }.substringAfter('='))
    }
}
