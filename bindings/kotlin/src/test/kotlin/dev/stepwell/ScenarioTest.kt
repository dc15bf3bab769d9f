package dev.stepwell

import java.io.File
import java.time.Instant
import kotlin.test.assertEquals
import kotlin.test.assertNotEquals
import kotlin.test.assertTrue
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.DynamicTest.dynamicTest
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestFactory
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable

/** The scenario files come to the same effects and digests as in Rust. */
class ScenarioTest {
    private val files = File("../../tests/scenarios").listFiles { file ->
        file.extension == "json" && file.nameWithoutExtension != "schema"
    }!!.sorted()

    private fun load(file: File) = Json.parseToJsonElement(file.readText()).jsonObject

    private fun steps(scenario: JsonObject) = scenario.list("steps").map { it.jsonObject }

    @Test
    fun thereAreAtLeastSixty() {
        assertTrue(files.size >= 60, "${files.size}")
    }

    @TestFactory
    fun scenarios(): List<DynamicTest> = files.map { file ->
        dynamicTest(file.nameWithoutExtension) { play(load(file)) }
    }

    private fun play(scenario: JsonObject) {
        val host = ScenarioHost(scenario)
        steps(scenario).forEachIndexed { index, step ->
            assertEquals(step["gives"], host.step(step), "step ${index + 1}, ${step["input"]}")
        }
        assertEquals(scenario["digests"], host.digests())
        val expect = scenario.getValue("expect").jsonObject
        assertEquals(expect.list("history").map { it.jsonPrimitive.content }, host.history())
        val outcome = host.run().outcome()
        expect.text("outcome")?.let { assertEquals(it, line(outcome!!).substringBefore(":")) }
        expect.text("state")?.let { assertEquals(it, host.run().state().name.lowercase()) }
        expect.text("text")?.let { assertEquals(it, host.run().text()) }
    }

    @Test
    fun aChangedInputChangesTheDigest() {
        val text = files.first().readText().replace("\"Hello", "\"Hallo")
        val scenario = Json.parseToJsonElement(text).jsonObject
        val host = ScenarioHost(scenario)
        val gives = steps(scenario).map(host::step)
        assertNotEquals(scenario["digests"], host.digests())
        assertNotEquals(steps(scenario).map { it["gives"] }, gives)
    }

    /** Restores what another language stored, plays this one's part of the steps, and stores the runs for the next. */
    @Test
    @EnabledIfEnvironmentVariable(named = "STEPWELL_RING", matches = ".+")
    fun aLegOfTheRing() {
        val folder = File(System.getenv("STEPWELL_RING"))
        val (leg, legs) = System.getenv("STEPWELL_RING_LEG").split("/").map(String::toInt)
        var played = 0
        for (file in files) {
            val scenario = load(file)
            val steps = steps(scenario)
            if (steps.any { it.text("input") == "dispose" }) continue
            val name = file.nameWithoutExtension
            val host = ScenarioHost(scenario)
            if (leg > 1) {
                val stored = load(File(folder, "$name.${leg - 1}.json"))
                host.now = Instant.ofEpochMilli(stored.long("now")!!)
                for ((run, snapshot) in stored.getValue("runs").jsonObject) {
                    host.restore(run, snapshot.jsonPrimitive.content)
                }
                for ((effect, snapshot) in stored.getValue("written").jsonObject) {
                    host.written[effect] = snapshot.jsonPrimitive.content
                }
            }
            for (step in steps.subList(steps.size * (leg - 1) / legs, steps.size * leg / legs)) {
                assertEquals(step["gives"], host.step(step), "$name at $step")
            }
            if (leg == legs) assertEquals(scenario["digests"], host.digests(), name)
            val stored = buildJsonObject {
                put("now", host.now.toEpochMilli())
                put("runs", JsonObject(host.runs.mapValues { JsonPrimitive(it.value.snapshot()) }))
                put("written", JsonObject(host.written.mapValues { JsonPrimitive(it.value) }))
            }
            File(folder, "$name.$leg.json").writeText(stored.toString())
            played++
        }
        assertTrue(played >= 50, "$played")
    }
}
