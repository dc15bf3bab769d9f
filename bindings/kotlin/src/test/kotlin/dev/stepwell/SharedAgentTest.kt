package dev.stepwell

import kotlin.test.assertEquals
import kotlin.test.assertTrue
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.sync.withPermit
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Test

/** One agent for all users of a service: it remembers nothing, and its conversations are let go of. */
class SharedAgentTest {
    private fun texts(request: JsonObject) =
        request.getValue("body").jsonObject.getValue("messages").jsonArray
            .map { it.jsonObject.getValue("content").jsonPrimitive.content }

    /** A hop of its own for each request that is sent. */
    private fun answers(count: Int) = Array(count) { MockLlm.text("Hello") }

    @Test
    fun aThousandRunsOfAHundredUsersAreNotMixed() = MockLlm(*answers(USERS * RUNS)).use { mock ->
        val agent = Agent(mock.model) { instructions = "Be kind." }
        val all = CompletableDeferred<Unit>()
        val results = runBlocking(Dispatchers.Default) {
            val users = List(USERS) { user ->
                async {
                    all.await()
                    List(RUNS) { run -> async { agent.run("user $user, run $run") } }.awaitAll()
                }
            }
            all.complete(Unit)
            users.awaitAll()
        }
        assertEquals(List(USERS * RUNS) { StopReason.COMPLETE }, results.flatten().map { it.stopReason })
        results.forEachIndexed { user, runs ->
            runs.forEachIndexed { run, result ->
                val said = result.messages.filterIsInstance<UserMessage>().map { it.text }
                assertEquals(listOf("user $user, run $run"), said)
            }
        }
        val sent = mock.requests().map { texts(it) }
        val expected = List(USERS) { user -> List(RUNS) { run -> listOf("Be kind.", "user $user, run $run") } }.flatten()
        assertEquals(expected.toSet(), sent.toSet())
        assertEquals(USERS * RUNS, sent.size)
    }

    @Test
    fun conversationsOfOneAgentRememberTheirOwn() = MockLlm(*answers(30)).use { mock ->
        val agent = Agent(mock.model)
        runBlocking(Dispatchers.Default) {
            List(10) { user ->
                async {
                    agent.conversation("user-$user").use { conversation ->
                        repeat(3) { conversation.send("user $user, message $it") }
                        val said = conversation.messages.filterIsInstance<UserMessage>().map { it.text }
                        assertEquals(List(3) { "user $user, message $it" }, said)
                    }
                    // What nobody holds is not remembered.
                    agent.conversation("user-$user").use { assertTrue(it.messages.isEmpty()) }
                }
            }.awaitAll()
        }
        for (request in mock.requests()) assertEquals(1, texts(request).map { it.substringBefore(",") }.toSet().minus("Hello").size)
    }

    @Test
    fun nothingIsLeftOfRunsAndConversations() = MockLlm(*answers(400)).use { mock ->
        val agent = Agent(mock.model)
        val few = Semaphore(8)
        runBlocking(Dispatchers.Default) {
            List(200) { index ->
                async {
                    few.withPermit {
                        agent.run("Hi")
                        agent.conversation("c-$index").use { it.send("Hi") }
                    }
                }
            }.awaitAll()
        }
        agent.engine.agent.registry().use { registry ->
            assertEquals(emptyList(), registry.unreadThreads())
            assertEquals(emptyList(), registry.running())
        }
        assertEquals(emptySet(), Caller.known.keys)
    }

    private companion object {
        const val USERS = 100
        const val RUNS = 10
    }
}
