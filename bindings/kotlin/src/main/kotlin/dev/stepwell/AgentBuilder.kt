package dev.stepwell

import kotlin.coroutines.CoroutineContext
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray

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

    /** An earlier conversation to go on with: AG-UI messages, oldest first. */
    public var history: JsonElement? = null

    /** The state shared with an AG-UI agent. */
    public var sharedState: JsonElement? = null

    private val code = AppCode()

    /**
     * What the app's code of the agent (tools, approver, hooks, …) runs in, over the coroutine context of whoever collects
     * the turn: `Dispatchers.IO`, say, for tools that block their thread.
     */
    public var context: CoroutineContext by code::context

    private val tools = mutableListOf<AgentTool>()
    private var approver: Approver? = null
    private var answerer: Answerer? = null
    private var stored: StoreSetup? = null
    private var journal: JournalSink? = null
    private var client: HttpTransport? = null
    private var runSource: RunSource? = null
    private var trimContext: Trimmer? = null
    private var outputDecoder: OutputDecoder? = null
    private var credentials: CredentialSource? = null
    private val hooks = mutableListOf<AgentHook>()
    private var instructionsFrom: InstructionsSource? = null
    private var registry: RunRegistry? = null

    /**
     * Sets who is told of each exception that the app's code of the agent throws without it being meant for the model or the
     * turn: a bug in a tool, an approver or a hook, with its stack. Without one they go to the logger `dev.stepwell` of
     * `java.util.logging`, as warnings.
     */
    public fun onError(handle: (Throwable) -> Unit) {
        code.onError = handle
    }

    /** Adds a tool: what it takes, and its code. */
    public fun tool(name: String, description: String, build: ToolBuilder.() -> Unit) {
        tools += ToolBuilder(name, description, code).apply(build).build()
    }

    /** Sets who asks the user about the tools that need it. Without one they are denied. */
    public fun approver(ask: suspend (ToolInvocation) -> Decision) {
        approver = object : Approver {
            override suspend fun decide(invocation: ToolInvocation): Decision = code.run { ask(invocation) }
        }
    }

    /**
     * Sets who asks the user what running tools want to know: [ask] gives the answer, which fits the question's schema, or
     * says that there is none. Without one their questions are declined.
     */
    public fun answerer(ask: suspend (ToolInvocation, Question) -> UserAnswer) {
        answerer = object : Answerer {
            override suspend fun ask(invocation: ToolInvocation, question: Question): UserAnswer =
                code.run { ask(invocation, question) }
        }
    }

    /**
     * Keeps the turns in a store: one that `SqliteStore.open` gave, say. `Agent.recover` goes on with what a process that
     * died has left. With [waits] a turn waits for its store however long it takes.
     */
    public fun store(store: SessionStore, waits: Boolean = false) {
        stored = StoreSetup(store, waits)
    }

    /** Keeps the turns in a database of the app's own. */
    public fun store(store: Store, waits: Boolean = false) {
        store(sessionStore(store, code), waits)
    }

    /**
     * Writes a journal of each turn, for [replayJournal]: [write] takes the turn and whole lines, each as soon as it is
     * known. It is called on the thread that drives the turn, so it is to be quick.
     */
    public fun journal(write: (turn: String, lines: String) -> Unit) {
        journal = object : JournalSink {
            override fun write(turn: String, lines: String): Unit = guarded { write(turn, lines) }
        }
    }

    /**
     * Sends the requests with the app's own HTTP stack: an [okHttp] of its `OkHttpClient`, or any other. Without one
     * Stepwell has connections of its own.
     */
    public fun client(client: HttpTransport) {
        this.client = client
    }

    /**
     * Sets where the runs of the hops come from, for a backend that creates each before its stream is opened: [create] gives
     * the run's id. What it throws is what the turn fails with. Without one the agent makes the ids itself.
     */
    public fun runSource(create: suspend (NewRun) -> String) {
        runSource = object : RunSource {
            override suspend fun createRun(new: NewRun): String =
                code.told { create(new) }
        }
    }

    /**
     * Sets who gives the key and the headers of each request, for tokens that expire: [give] is asked before each, and once
     * more when the provider refuses what it gave with a 401. What it throws is what the turn fails with. Without one they are
     * `key` and `headers`.
     */
    public fun credentials(give: suspend (CredentialRequest) -> Authorization) {
        credentials = object : CredentialSource {
            override suspend fun credentials(request: CredentialRequest): Authorization = code.told { give(request) }
        }
    }

    /**
     * Adds a hook, after those before it: code that looks at requests, answers and tools, changes them, or refuses them with
     * [refuse]. Whatever else it throws fails the turn, with the hook's [name].
     */
    public fun hook(name: String, build: HookBuilder.() -> Unit) {
        hooks += HookBuilder(name, code).apply(build).build()
    }

    /**
     * Sets who makes the instructions of each turn, before its first request: they are stored with the turn. What [make] throws
     * is what the turn fails with. Without one they are [instructions].
     */
    public fun instructionsFrom(make: suspend (InstructionsRequest) -> String) {
        instructionsFrom = object : InstructionsSource {
            override suspend fun instructions(request: InstructionsRequest): String = code.told { make(request) }
        }
    }

    /**
     * Sets who shortens a conversation that does not fit the model's context any more: [trim] is given what does not fit, and
     * its messages as AG-UI has them, oldest first, and says what is kept, or nothing if it cannot be shortened:
     * `Trimmed(overflow.newest(0.5))`, say. Without one such a turn ends with [Failure.ContextTooLong].
     */
    public fun trimContext(trim: suspend (overflow: ContextOverflow, messages: JsonArray) -> Trimmed?) {
        trimContext = object : Trimmer {
            override suspend fun trim(overflow: ContextOverflow, messages: JsonElement): Trimmed? =
                code.run { trim(overflow, messages.jsonArray) }
        }
    }

    /**
     * Sets who decodes the typed answers, before they count: [decode] is given the answer, which fits its schema. What it
     * throws is what the model is told that does not fit: the answer is asked for again. Asked only where
     * [OutputType.decodedByHost] says so.
     */
    public fun outputDecoder(decode: suspend (JsonElement) -> Unit) {
        outputDecoder = Decoding(code, decode)
    }

    /** Uses a registry that the app has stored, or that several agents share. */
    public fun registry(registry: RunRegistry) {
        this.registry = registry
    }

    internal fun build(): Agent {
        setLanguage("Kotlin")
        val setup = AgentSetup(
            tools = tools,
            approver = approver,
            answerer = answerer,
            threadId = threadId,
            history = history,
            sharedState = sharedState,
            store = stored,
            journal = journal,
            client = client,
            runSource = runSource,
            trimContext = trimContext,
            outputDecoder = outputDecoder,
            credentials = credentials,
            hooks = hooks,
            instructionsFrom = instructionsFrom,
            registry = registry,
        )
        return Agent(config(), setup)
    }
}
