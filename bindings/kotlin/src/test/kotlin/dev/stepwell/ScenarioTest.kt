package dev.stepwell

import dev.stepwell.testing.ScenarioHost
import dev.stepwell.testing.list
import dev.stepwell.testing.long
import dev.stepwell.testing.play
import dev.stepwell.testing.text
import java.io.File
import java.time.Instant
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
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

    /** Rust restores before each piece of a stream; this test before so many, unless it is thorough. */
    private val restoreEvery = if (System.getenv("STEPWELL_THOROUGH") == null) 13 else 1

    private fun load(file: File) = Json.parseToJsonElement(file.readText()).jsonObject

    private fun steps(scenario: JsonObject) = scenario.list("steps").map { it.jsonObject }

    @Test
    fun thereAreAtLeastSixty() {
        assertTrue(files.size >= 60, "${files.size}")
    }

    @TestFactory
    fun scenarios(): List<DynamicTest> = files.map { file ->
        dynamicTest(file.nameWithoutExtension) { assertEquals(emptyList(), play(file.readText(), restoreEvery).unmet) }
    }

    @Test
    fun aChangedInputChangesTheDigest() {
        val unmet = play(files.first().readText().replace("\"Hello", "\"Hallo")).unmet
        assertTrue(unmet.any { it.startsWith("the digests") }, "$unmet")
        assertTrue(unmet.any { it.startsWith("the chats") }, "$unmet")
        assertTrue(unmet.any { it.startsWith("step 3 (receive)") }, "$unmet")
    }

    @Test
    fun whatIsExpectedIsMetOrNamed() {
        fun scenario(expect: String) = """{
            "config": {"provider": "openai-compatible", "model": "m", "base_url": "http://localhost/v1"},
            "steps": [
                {"input": "start", "run_id": "run-1", "say": "Hello"},
                {"input": "new_run", "run": "second"},
                {"input": "cancel"}
            ],
            "expect": $expect
        }"""
        val met = """{
            "state": "completed", "outcome": "cancelled", "text": "", "history": ["user: Hello"],
            "others": {"second": {"outcome": null, "history": []}}, "tools_run": [],
            "requests": [{"method": "POST", "body": {"model": "m", "tools": null}}],
            "seen": ["completed: cancelled"]
        }"""
        val played = play(scenario(met))
        assertEquals(emptyList(), played.unmet)
        assertEquals(emptyList(), play(played.scenario).unmet)
        val unmet = """{
            "state": "idle", "outcome": "success", "text": "Hi", "history": [],
            "others": {"second": {"outcome": "success", "history": []}}, "tools_run": ["tool"],
            "requests": [{"method": "GET"}],
            "seen": ["completed: cancelled", "completed: cancelled"]
        }"""
        for ((name, expected) in Json.parseToJsonElement(unmet).jsonObject) {
            assertEquals(1, play(scenario("""{"$name": $expected}""")).unmet.size, name)
        }
        assertFailsWith<IllegalArgumentException> { play(scenario("""{"outcom": "success"}""")) }
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
            val host = ScenarioHost(scenario, restoreEvery)
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
