// What a compiler must refuse: each line that is marked, and no other. `MisuseTest` compiles it.
package misuse

import dev.stepwell.*

class Trip(val city: String, val days: Int)

suspend fun results(agent: Agent) {
    agent.run<Trip>("Where to?").output.city
    agent.run<Trip>("Where to?").output.town // wrong
    val days: Int = agent.run<Trip>("Where to?").output.days
    val text: Int = agent.run("Hi").output // wrong
    val result: TurnResult<Trip> = agent.run("Where to?") // wrong
    val turn: Turn<Trip> = agent.stream<Trip>("Where to?")
    turn.result().output.weeks // wrong
    val said: TurnResult<List<String>> = agent.conversation().send<List<Int>>("Which?") // wrong
    println("$days $text $result $said")
}

suspend fun agents(agent: Agent) {
    agent.conversation().messages
    agent.messages // wrong
    agent.history // wrong
    agent.send("Hi") // wrong
    agent.run("Hi") { user = "user-7" }
    agent.run("Hi") { user = 7 } // wrong
}

class AppDeps(val orders: List<String>)

fun AgentBuilder<AppDeps>.orders() = tool("orders", "The orders.") { run { _, context -> context.deps.orders } }

suspend fun deps() {
    val agent = AgentWithDeps<AppDeps>("openai:gpt-5-mini") {
        orders()
        tool("first", "The first.") { run { _, context -> context.deps.orders.first() } }
        tool("other", "Another.") { run { _, context -> context.deps.bills } } // wrong
    }
    agent.run("Hi", deps = AppDeps(emptyList()))
    agent.run("Hi") // wrong
    agent.run("Hi", deps = "orders") // wrong
    agent.withDeps(7) // wrong
    agent.withDeps(AppDeps(emptyList())).run("Hi")
    Agent("openai:gpt-5-mini") { orders() } // wrong
    Agent("openai:gpt-5-mini") { tool("none", "None.") { run { _, context -> context.deps.orders } } } // wrong
    val trip: TurnResult<Trip> = agent.run<Trip>("Where to?", deps = AppDeps(emptyList()))
    println(trip.output.city)
}

suspend fun updates(agent: Agent) {
    agent.stream<Trip>("Where to?").partials.collect { println(it.city) }
    agent.stream<Trip>("Where to?").partials.collect { println(it.town) } // wrong
    agent.stream("Hi").updates.collect { if (it is Update.Text) println(it.delta) }
    agent.stream("Hi").updates.collect { event: Event -> println(event) } // wrong
}

fun settings() {
    Agent("openai:gpt-5-mini") { limits { maxToolRounds = 5 } }
    Agent("openai:gpt-5-mini") { limits { maxToolRounds = "five" } } // wrong
    Agent("openai:gpt-5-mini") { limits { instructions = "No" } } // wrong
    Agent(5) // wrong
}

fun errors(failed: StepwellException): String = when (failed.problem.kind) { // wrong
    ErrorKind.TIMEOUT -> "late"
}

fun insides() {
    RustBuffer() // wrong
    FfiConverterString // wrong
    val turn: FfiTurn? = null // wrong
}
