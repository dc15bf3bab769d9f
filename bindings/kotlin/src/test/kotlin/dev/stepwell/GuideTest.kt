package dev.stepwell

import java.io.File
import kotlin.test.assertEquals
import kotlin.test.assertTrue
import okhttp3.OkHttpClient
import org.junit.jupiter.api.Test

/** The guides show the programs that are compiled and run here. */
class GuideTest {
    private fun shown(guide: String): String {
        val after = File("../../docs/$guide.md").readText().substringAfter("## A first program\n\n```kotlin\n")
        return after.substringBefore("```")
    }

    private fun check(guide: String, program: String) {
        val source = File("../../examples/$program").readText()
        assertEquals(source, shown(guide))
        assertTrue(source.lines().size <= 31, "$program is no longer short")
    }

    @Test
    fun theFirstProgramOfKotlin() {
        check("kotlin", "kotlin/Hello.kt")
        val readme = File("../../README.md").readText()
        assertTrue(File("../../examples/kotlin/Hello.kt").readText() in readme)
    }

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
