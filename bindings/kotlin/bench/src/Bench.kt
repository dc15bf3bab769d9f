package dev.stepwell.bench

import dev.stepwell.Event
import dev.stepwell.Outcome
import dev.stepwell.RunConfig
import dev.stepwell.RunMachine
import dev.stepwell.SessionStore
import dev.stepwell.Start
import dev.stepwell.ThreadKey
import dev.stepwell.ended
import dev.stepwell.id
import dev.stepwell.opened
import dev.stepwell.receive
import dev.stepwell.start
import dev.stepwell.version
import java.time.Instant
import kotlin.system.measureNanoTime
import kotlinx.coroutines.runBlocking

private const val DELTAS = 20_000

/** What the SDKs read at a time: a `BufferedReader`'s buffer. */
private const val CHUNK = 8 * 1024

/** What a call costs, and what a whole stream does, beside the official SDKs reading the same bytes in the same run. */
fun main() {
    calls()
    val chat = chatStream(DELTAS)
    streams(
        "Chat Completions, $DELTAS deltas, ${chat.bytes.size} bytes",
        listOf(
            "openai-java 4.101.0, deltas" to { openAiDeltas(chat.bytes) },
            "openai-java 4.101.0, accumulated" to { openAiAccumulated(chat.bytes) },
            "RunMachine, $CHUNK bytes a call" to { stepwell("openai-compatible", chat.bytes, CHUNK) },
            "RunMachine, 1024 bytes a call" to { stepwell("openai-compatible", chat.bytes, 1024) },
        ),
        chat.text,
    )
    val messages = messagesStream(DELTAS)
    streams(
        "Messages, $DELTAS deltas, ${messages.bytes.size} bytes",
        listOf(
            "anthropic-java 3.12.0, deltas" to { anthropicDeltas(messages.bytes) },
            "anthropic-java 3.12.0, accumulated" to { anthropicAccumulated(messages.bytes) },
            "RunMachine, $CHUNK bytes a call" to { stepwell("anthropic", messages.bytes, CHUNK) },
            "RunMachine, 1024 bytes a call" to { stepwell("anthropic", messages.bytes, 1024) },
        ),
        messages.text,
    )
}

/** One round each in turns, so that what else the machine does meets all of them; medians. */
private fun streams(title: String, readers: List<Pair<String, () -> String>>, text: String) {
    println("\n$title")
    val rounds = 9
    val times = readers.map { mutableListOf<Long>() }
    repeat(2 * rounds) { round ->
        readers.forEachIndexed { index, (name, read) ->
            var got = ""
            val took = measureNanoTime { got = read() }
            check(got == text) { "$name read another text" }
            // The first rounds are for the compiler.
            if (round >= rounds) times[index] += took
        }
    }
    val medians = times.map { it.sorted()[rounds / 2] }
    val best = medians.take(2).min()
    readers.forEachIndexed { index, (name, _) ->
        val beside = if (index < 2) "" else "  %.2f of the faster one's time".format(medians[index].toDouble() / best)
        println("%10.2f ms  %s%s".format(medians[index] / 1e6, name, beside))
    }
}

/** A turn by the sans-IO API: every layer on, the events taken, the text put together as a screen does. */
private fun stepwell(provider: String, bytes: ByteArray, chunk: Int): String {
    val config = RunConfig(provider, "bench", baseUrl = "http://localhost/v1", key = "none")
    return RunMachine(config, "thread").use { machine ->
        val effect = machine.start(Start("run", "Hi"), Instant.EPOCH).effects.single().id
        machine.opened(effect, "text/event-stream", Instant.EPOCH)
        val text = StringBuilder()
        val piece = ByteArray(chunk)
        for (at in bytes.indices step chunk) {
            val length = minOf(chunk, bytes.size - at)
            bytes.copyInto(piece, 0, at, at + length)
            for (event in machine.receive(effect, piece, length, Instant.EPOCH).events) {
                if (event is Event.TextMessageContent) text.append(event.delta)
            }
        }
        machine.ended(effect, Instant.EPOCH)
        check(machine.outcome() == Outcome.Success) { "${machine.outcome()}" }
        text.toString()
    }
}

private inline fun bench(name: String, call: () -> Unit) {
    val calls = 5_000
    repeat(10 * calls) { call() }
    val best = List(5) { measureNanoTime { repeat(calls) { call() } } / calls }.min()
    println("%10d ns  %s".format(best, name))
}

private fun calls() {
    val machine = RunMachine(RunConfig("openai-compatible", "bench", baseUrl = "http://localhost/v1"), "thread")
    val effect = machine.start(Start("run", "Hi"), Instant.EPOCH).effects.single().id
    machine.opened(effect, "text/event-stream", Instant.EPOCH)
    fun delta(text: String) = """data: {"choices":[{"index":0,"delta":{"content":"$text"}}]}""" + "\n\n"
    machine.receive(effect, delta("Well").toByteArray(), now = Instant.EPOCH)
    val words = delta("word ").repeat(1024 / delta("word ").length)
    val tokens = (words + ":" + " ".repeat(1024 - words.length - 3) + "\n\n").toByteArray()
    val silence = (":" + " ".repeat(1021) + "\n\n").toByteArray()
    println("One call on Java ${System.getProperty("java.version")}, the best of five rounds of 5,000")
    bench("a call that does nothing") { machine.hop() }
    bench("a call that gives a string") { version() }
    bench("receive, 1 KiB without an event") { machine.receive(effect, silence, now = Instant.EPOCH) }
    bench("receive, 1 KiB of tokens, events and effects back") { machine.receive(effect, tokens, now = Instant.EPOCH) }
    val store = SessionStore.inMemory()
    runBlocking { bench("a suspended call") { store.thread(ThreadKey("absent")) } }
}
