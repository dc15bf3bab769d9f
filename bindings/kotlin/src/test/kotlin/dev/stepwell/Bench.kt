package dev.stepwell

import kotlin.system.measureNanoTime

/** What a call costs: run it with a release build of the library. */
fun main() {
    fun delta(text: String) = """data: {"choices":[{"index":0,"delta":{"content":"$text"}}]}""" + "\n\n"

    val machine = RunMachine(RunConfig("openai-compatible", "bench", baseUrl = "http://localhost/v1"), "thread")
    val effect = machine.start(Start("run", "Hi"), 0L).effects.single().id
    machine.opened(effect, "text/event-stream", 0L)
    machine.receive(effect, delta("Well").toByteArray(), nowMs = 0)
    val words = delta("word ").repeat(1024 / delta("word ").length)
    val tokens = (words + ":" + " ".repeat(1024 - words.length - 3) + "\n\n").toByteArray()
    val silence = (":" + " ".repeat(1021) + "\n\n").toByteArray()

    fun bench(name: String, call: () -> Unit) {
        val calls = 5_000
        repeat(10 * calls) { call() }
        val best = List(5) { measureNanoTime { repeat(calls) { call() } } / calls }.min()
        println("%10d ns  %s".format(best, name))
    }
    bench("a call that does nothing") { machine.hop() }
    bench("a call that gives a string") { version() }
    bench("receive, 1 KiB without an event") { machine.receive(effect, silence, nowMs = 0) }
    bench("receive, 1 KiB of tokens") { machine.receive(effect, tokens, nowMs = 0) }
}
