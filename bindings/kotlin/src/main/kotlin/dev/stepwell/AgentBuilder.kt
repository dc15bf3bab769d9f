package dev.stepwell

import dev.stepwell.internal.AgentHook
import dev.stepwell.internal.AgentSetup
import dev.stepwell.internal.AgentTool
import dev.stepwell.internal.Answerer
import dev.stepwell.internal.Approver
import dev.stepwell.internal.CredentialSource
import dev.stepwell.internal.InstructionsSource
import dev.stepwell.internal.JournalSink
import dev.stepwell.internal.ModelChooser
import dev.stepwell.internal.OutputDecoder
import dev.stepwell.internal.RunSource
import dev.stepwell.internal.StoreSetup
import dev.stepwell.internal.Trimmer
import java.util.function.Consumer
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray

@DslMarker
internal annotation class StepwellDsl

/**
 * Sets up an [Agent], or an [AgentWithDeps].
 *
 * @param D The type of the value that the agent's tools need: [ToolContext.deps].
 */
@StepwellDsl
public class AgentBuilder<out D> internal constructor(private val model: Model) : AgentOptions<AgentBuilder<D>>() {
    private val code = AppCode()

    /**
     * The context of the app's code of the agent (tools, approver, hooks, …), added to the coroutine context of the
     * caller that collects the turn: `Dispatchers.IO`, say, for tools that block their thread.
     */
    public var context: CoroutineContext by code::context

    /**
     * What happens if a tool throws anything but a [ToolException]. With [OnToolError.FAIL] the turn fails with
     * [StepwellException.ToolFailed], whose `cause` is what was thrown.
     */
    public var onToolError: OnToolError by code::onToolError

    /**
     * Whether another model of the [fallback] is asked even if the user has seen a part of the answer. The part stays,
     * marked as cut, and the other model answers in a message of its own. Otherwise the turn fails.
     */
    public var fallbackAfterText: Boolean = false

    /** The time for which a model that has failed is not asked first, by the agents of the process; a minute if null. */
    public var modelRest: Duration? = null

    private val fallback = mutableListOf<Model>()
    private val fallbackAfter = mutableListOf<ErrorKind>()
    private var modelFor: ModelChooser? = null
    private var summaryModel: Model? = null
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
     * Sets the handler of each exception of the app's code that is not meant for the model or the turn: a bug in a
     * tool, an approver or a hook, with its stack. Without a handler they go to the logger `dev.stepwell` of
     * `java.util.logging`, as warnings.
     */
    public fun onError(handle: (Throwable) -> Unit) {
        code.onError = handle
    }

    /** Adds a tool: its arguments and its code. */
    public fun tool(name: String, description: String, build: ToolBuilder<D>.() -> Unit) {
        tools += ToolBuilder<D>(name, description, code).apply(build).build()
    }

    /** Adds a tool; for Java. */
    public fun tool(name: String, description: String, build: Consumer<in ToolBuilder<D>>): AgentBuilder<D> = apply {
        tool(name, description) { build.accept(this) }
    }

    /**
     * Sets the code that asks the user to approve the tools that need it. Without it their calls wait: [Turn.pending],
     * [Conversation.pending] and [SessionStore.pending] list them, and a plain [Agent.run] denies them.
     */
    public fun approver(ask: suspend (ToolInvocation) -> Decision) {
        approver = object : Approver {
            override suspend fun decide(invocation: ToolInvocation): Decision = code.run { ask(invocation) }
        }
    }

    /**
     * Sets the code that asks the user the questions of running tools: [ask] returns the answer, which fits the
     * question's schema, or that there is none. Without it they wait, as the calls without an [approver] do.
     */
    public fun answerer(ask: suspend (ToolInvocation, Question) -> UserAnswer) {
        answerer = object : Answerer {
            override suspend fun ask(invocation: ToolInvocation, question: Question): UserAnswer =
                code.run { ask(invocation, question) }
        }
    }

    /**
     * Keeps the turns in a store: one that `SqliteStore.open` returned, say. [Agent.recover] revives the turns that a
     * dead process left. With [waits] a turn waits for its store however long it takes.
     */
    public fun store(store: SessionStore, waits: Boolean = false) {
        stored = StoreSetup(store, waits)
    }

    /** Keeps the turns in the app's own database. */
    public fun store(store: Store, waits: Boolean = false) {
        store(sessionStore(store, code), waits)
    }

    /**
     * Writes a journal of each turn, for [replayJournal]: [write] takes the turn and complete lines, each as soon as it
     * is known. It is called on the thread that drives the turn, so it should return quickly.
     */
    public fun journal(write: (turn: String, lines: String) -> Unit) {
        journal = object : JournalSink {
            override fun write(turn: String, lines: String): Unit = guarded { write(turn, lines) }
        }
    }

    /**
     * Sends the requests with the app's own HTTP stack: an [okHttp] of its `OkHttpClient`, or any other. Without it
     * Stepwell has connections of its own.
     */
    public fun client(client: HttpTransport) {
        this.client = client
    }

    /**
     * Sets the code that creates the runs of the hops, for a backend that creates each run before its stream is opened:
     * [create] returns the run's id. An exception fails the turn. Without it the agent makes the ids itself.
     */
    public fun runSource(create: suspend (NewRun) -> String) {
        runSource = object : RunSource {
            override suspend fun createRun(new: NewRun): String =
                code.told { create(new) }
        }
    }

    /**
     * Sets the code that supplies the key and the headers of each request, for tokens that expire: [give] is called
     * before each request, and again when the provider refuses its answer with a 401. An exception fails the turn.
     * Without it they are those of the [Model].
     */
    public fun credentials(give: suspend (CredentialRequest) -> Authorization) {
        credentials = object : CredentialSource {
            override suspend fun credentials(request: CredentialRequest): Authorization = code.told { give(request) }
        }
    }

    /**
     * Adds a hook, after those before it: code that inspects requests, answers and tools, changes them, or refuses them
     * with [refuse]. Any other exception fails the turn, with the hook's [name].
     */
    public fun hook(name: String, build: HookBuilder.() -> Unit) {
        hooks += HookBuilder(name, code).apply(build).build()
    }

    /**
     * Sets the code that makes the instructions of each turn, before its first request: they are stored with the turn.
     * An exception of [make] fails the turn. Without it they are [instructions].
     */
    public fun instructionsFrom(make: suspend (InstructionsRequest) -> String) {
        instructionsFrom = object : InstructionsSource {
            override suspend fun instructions(request: InstructionsRequest): String = code.told { make(request) }
        }
    }

    /**
     * Sets the code that shortens a conversation that no longer fits the model's context: [trim] gets the overflow, and
     * its messages in AG-UI's form, oldest first, and returns what is kept, or null if the conversation cannot be
     * shortened: `Trimmed(overflow.newest(0.5))`, say. Without it such a turn ends with [Failure.ContextTooLong].
     */
    public fun trimContext(trim: suspend (overflow: ContextOverflow, messages: JsonArray) -> Trimmed?) {
        trimContext = object : Trimmer {
            override suspend fun trim(overflow: ContextOverflow, messages: JsonElement): Trimmed? =
                code.run { trim(overflow, messages.jsonArray) }
        }
    }

    /**
     * Sets the code that decodes the typed answers, before they are accepted: [decode] gets the answer, which fits its
     * schema. An exception is the model's reason to answer again. Used only if [OutputType.decodedByHost] is set.
     */
    public fun outputDecoder(decode: suspend (JsonElement) -> Unit) {
        outputDecoder = Decoding(code, decode)
    }

    /**
     * Adds models that are asked, in this order, when the agent's own has failed after its retries; the turn stays with
     * the one that answers. [Update.ModelChanged] tells the app. With [credentials] the keys of these models are asked for
     * too: [CredentialRequest.model] says of which.
     */
    public fun fallback(vararg models: Model): AgentBuilder<D> = apply { fallback += models }

    /**
     * Sets the kinds of failure after which the [fallback] is asked. Without them they are an overloaded model, a used-up
     * rate limit, an error of the server or the connection, and a timeout. [ErrorKind.OUTPUT_INVALID] includes empty
     * answers.
     */
    public fun fallbackAfter(vararg kinds: ErrorKind): AgentBuilder<D> = apply {
        fallbackAfter.clear()
        fallbackAfter += kinds
    }

    /** Sets [fallbackAfterText]; for Java. */
    public fun fallbackAfterText(value: Boolean): AgentBuilder<D> = apply { fallbackAfterText = value }

    /** Sets [modelRest]; for Java. */
    public fun modelRest(rest: java.time.Duration): AgentBuilder<D> = apply { modelRest = rest.toKotlinDuration() }

    /**
     * Sets the code that chooses the model of each hop: [choose] returns its number, 0 for the agent's own, 1 for the first
     * of the [fallback]. After an exception, and for a number that no model has, the turn continues with the model that it
     * has. A model that fails is replaced all the same.
     */
    public fun modelFor(choose: suspend (HopContext) -> Int) {
        modelFor = object : ModelChooser {
            override suspend fun choose(context: HopContext): Int = code.run { choose(context) }
        }
    }

    /**
     * Sets the model that writes the summaries of long conversations, instead of the agent's own. Without a [compaction]
     * that says otherwise, summaries are the one way.
     */
    public fun summaryModel(model: Model): AgentBuilder<D> = apply { summaryModel = model }

    /** Uses a registry that the app has stored, or that several agents share. */
    public fun registry(registry: RunRegistry) {
        this.registry = registry
    }

    /** Returns the agent; for Java. Changes of the builder do not reach it any more. */
    public fun build(): Agent = Agent(engine())

    internal fun engine(): Engine {
        val setup = AgentSetup(
            tools = tools.toList(),
            approver = approver,
            answerer = answerer,
            store = stored,
            journal = journal,
            client = client,
            runSource = runSource,
            trimContext = trimContext,
            modelFor = modelFor,
            outputDecoder = outputDecoder,
            credentials = credentials,
            hooks = hooks.toList(),
            instructionsFrom = instructionsFrom,
            registry = registry,
            onToolError = code.onToolError.takeIf { it == OnToolError.SHOW_MODEL },
        )
        val others = Fallback(
            after = fallbackAfter.toList(),
            afterText = fallbackAfterText,
            rest = modelRest,
            choice = if (modelFor == null) null else ModelChoice.HOST,
        )
        return Engine(model, config(model).copy(fallback = others), setup, code, fallback.toList(), summaryModel)
    }
}
