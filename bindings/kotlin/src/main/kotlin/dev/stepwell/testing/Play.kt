@file:JvmName("Scenarios")

package dev.stepwell.testing

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonObject

/**
 * A scenario that was played.
 *
 * @property scenario The scenario with the outputs of each step (`gives`), how its runs ended (`digests`), and what a
 * chat screen shows of them (`chats`), as JSON.
 * @property unmet The differences from the scenario's `gives`, `digests`, `chats` and `expect`; empty if there are none.
 */
public class Played internal constructor(public val scenario: String, public val unmet: List<String>)

/**
 * Plays a scenario file from its beginning to its end, without network and clock. `tests/scenarios/README.md` of Stepwell's
 * repository has its form.
 *
 * A step without `gives` is only played; digests and chats are compared if there are any. A step with `restore_between`
 * stores and restores its runs before every chunk of a stream, or before every [restoreEvery]th.
 *
 * @throws dev.stepwell.StepwellException if the run cannot be set up
 * @throws IllegalArgumentException if the scenario is not of the form
 */
@JvmOverloads
public fun play(scenario: String, restoreEvery: Int = 1): Played {
    require(restoreEvery > 0) { "`restoreEvery` is $restoreEvery: give 1 or more" }
    val file = Json.parseToJsonElement(scenario).jsonObject
    return ScenarioHost(file, restoreEvery).use { host ->
        val steps = file.list("steps").map { it.jsonObject }.map { JsonObject(it + ("gives" to host.step(it))) }
        val played = JsonObject(file + mapOf("steps" to JsonArray(steps), "digests" to host.digests(), "chats" to host.chats()))
        Played(played.toString(), differences(file, played) + unexpected(played, host))
    }
}
