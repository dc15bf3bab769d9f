package dev.stepwell

import java.io.ByteArrayOutputStream
import java.io.PrintStream
import java.nio.file.Files
import kotlin.io.path.deleteExisting
import kotlin.io.path.writeBytes
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.Test

@Serializable
class Motif(val what: String)

/** Pictures, sound and documents: what the user shows, and what tools give. */
class MediaTest {
    private val png = byteArrayOf(0x89.toByte(), 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
    private val url = "data:image/png;base64,iVBORw0KGgo="
    private val shown = """{"type":"image_url","image_url":{"url":"$url"}}"""

    private fun said(mock: MockLlm): JsonElement {
        val body = mock.requests().last().getValue("body").jsonObject
        return body.getValue("messages").jsonArray.last().jsonObject.getValue("content")
    }

    @Test
    fun textsAndMediaAreSentInOrder() = runBlocking {
        MockLlm(MockLlm.text("Both."), MockLlm.text("Both.")).use { mock ->
            val words = listOf("Is", "like").map { """{"type":"text","text":"$it"}""" }
            val expected = "[${words[0]},$shown,${words[1]},$shown]"
            val parts = arrayOf(image(png), text("like"), image(url))
            val agent = Agent(mock.model)
            assertEquals("Both.", agent.run("Is", *parts).text)
            assertEquals(expected, said(mock).toString())
            agent.stream("Is", *parts).updates.collect()
            assertEquals(expected, said(mock).toString())
        }
    }

    @Test
    fun toolsGivePictures() = runBlocking {
        MockLlm(
            MockLlm.call("draw", "{}"),
            MockLlm.call("paint", """{"what":"tea"}"""),
            MockLlm.text("Nice."),
        ).use { mock ->
            val agent = Agent(mock.model) {
                tool("draw", "Draws.") { run { _ -> ToolOutput("Here:", listOf(image(png))) } }
                typedTool("paint", "Paints.") { _: Motif -> listOf(image(png), image(url)) }
            }
            assertEquals("Nice.", agent.run("Draw").text)
            val sent = mock.requests().last().getValue("body").jsonObject.getValue("messages").toString()
            assertEquals(4, sent.split(url).size)
            assertContains(sent, "Here:")
        }
    }

    @Test
    fun whatIsNoneIsToldAtOnce() {
        val refused = mapOf(
            "cannot be read" to { image("no/such.png") },
            "has no bytes" to { image(ByteArray(0)) },
            "is no audio" to { audio(png) },
            "`ftp:`" to { image("ftp://a/b.png") },
            "is no media type" to { document(png, mediaType = "png") },
        )
        for ((words, make) in refused) {
            assertContains(assertFailsWith<StepwellException.Misuse> { make() }.message, words)
        }
        assertContains(file("file-1", mediaType = "image/png").json.toString(), """"type":"image"""")
    }

    @Test
    fun theFirstProgramPrintsTheAnswer() {
        val picture = Files.createTempFile("shark", ".png").apply { writeBytes(png) }
        MockLlm(MockLlm.text("A shark.")).use { mock ->
            val (printed, console) = ByteArrayOutputStream() to System.out
            System.setOut(PrintStream(printed))
            try {
                look.main(arrayOf(picture.toString(), mock.baseUrl))
            } finally {
                System.setOut(console)
                picture.deleteExisting()
            }
            assertEquals("A shark.\n", printed.toString())
            assertContains(said(mock).toString(), shown)
        }
    }
}
