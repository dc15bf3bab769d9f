package dev.stepwell

import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

/**
 * An agent: a conversation with a model and the app's tools, with the network inside.
 *
 * ```
 * val agent = agent("openai", "gpt-4o-mini", key = key) {
 *     instructions = "Be brief."
 *     tool("get_secret_number", "The secret number of a person.") {
 *         string("name", "The user's name.")
 *         run { call -> numbers.getValue(call.string("name")) }
 *     }
 * }
 * agent.send("What is Alice's secret number?").collect { event -> … }
 * ```
 *
 * @throws StepwellException if the configuration cannot work
 */
public fun agent(
    provider: String,
    model: String = "",
    baseUrl: String? = null,
    key: String? = null,
    build: AgentBuilder.() -> Unit = {},
): Agent = AgentBuilder(provider, model, baseUrl, key).apply(build).build()

@DslMarker
internal annotation class StepwellDsl

/** Sets up an [Agent]; see [agent]. */
@StepwellDsl
public class AgentBuilder internal constructor(
    provider: String,
    model: String,
    baseUrl: String?,
    key: String?,
) : AgentOptions(provider, model, baseUrl = baseUrl, key = key) {
    /** The conversation's id; random if absent. */
    public var threadId: String? = null

    /** An earlier conversation to go on with: a JSON array of AG-UI messages. */
    public var historyJson: String? = null

    /** The state shared with an AG-UI agent. */
    public var sharedState: JsonElement = JsonObject(emptyMap())

    private val tools = mutableListOf<AgentTool>()
    private var approver: Approver? = null
    private var stored: StoreSetup? = null
    private var journal: JournalSink? = null
    private var client: HttpTransport? = null

    /** Adds a tool: what it takes, and its code. */
    public fun tool(name: String, description: String, build: ToolBuilder.() -> Unit) {
        tools += ToolBuilder(name, description).apply(build).build()
    }

    /** Sets who asks the user about the tools that need it. Without one they are denied. */
    public fun approver(ask: suspend (ToolInvocation) -> Decision) {
        approver = object : Approver {
            override suspend fun decide(invocation: ToolInvocation): Decision =
                try {
                    ask(invocation)
                } catch (broken: Error) {
                    // Only exceptions cross to Rust: an error left alone would never answer, and the turn would wait.
                    throw IllegalStateException("${broken::class.simpleName}: ${broken.message}", broken)
                }
        }
    }

    /**
     * Keeps the turns in a store: the built-in one of [SqliteStore], say. `Agent.recover` goes on with what a process that
     * died has left. With [waits] a turn waits for its store however long it takes.
     */
    public fun store(store: SessionStore, waits: Boolean = false) {
        stored = StoreSetup(store, waits)
    }

    /** Keeps the turns in a database of the app's own. */
    public fun store(store: Store, waits: Boolean = false) {
        store(sessionStore(store), waits)
    }

    /**
     * Writes a journal of each turn, for [replayJournal]: [write] takes the turn and whole lines, each as soon as it is
     * known. It is called on the thread that drives the turn, so it is to be quick.
     */
    public fun journal(write: (turn: String, lines: String) -> Unit) {
        journal = object : JournalSink {
            override fun write(turn: String, lines: String): Unit =
                try {
                    write(turn, lines)
                } catch (broken: Error) {
                    throw IllegalStateException("${broken::class.simpleName}: ${broken.message}", broken)
                }
        }
    }

    /**
     * Sends the requests with the app's own HTTP stack: an [okHttp] of its `OkHttpClient`, or any other. Without one
     * Stepwell has connections of its own.
     */
    public fun client(client: HttpTransport) {
        this.client = client
    }

    internal fun build(): Agent {
        setLanguage("Kotlin")
        val setup = AgentSetup(
            tools = tools,
            approver = approver,
            threadId = threadId,
            historyJson = historyJson,
            sharedStateJson = sharedState.toString(),
            store = stored,
            journal = journal,
            client = client,
        )
        return Agent(config(), setup)
    }
}
