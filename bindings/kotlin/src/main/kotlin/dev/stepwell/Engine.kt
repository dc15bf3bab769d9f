package dev.stepwell

import dev.stepwell.internal.AgentSetup
import dev.stepwell.internal.FfiAgent
import dev.stepwell.internal.StoreSetup
import java.lang.ref.WeakReference
import java.util.UUID
import java.util.WeakHashMap

/**
 * What an agent's turns run on: Stepwell's own agents, each of which is a map of conversations. One serves the agent's
 * store, and each other store has a further one while a conversation uses it.
 */
internal class Engine(
    val model: Model,
    private val config: RunConfig,
    private val setup: AgentSetup,
    val code: AppCode,
) {
    private val own by lazy { create(setup) }
    private val others = WeakHashMap<SessionStore, WeakReference<FfiAgent>>()

    @Volatile
    private var isInBackground = false

    @Volatile
    private var isOffline = false

    val limits: Limits get() = config.limits

    /** An engine of the same definition with another model. */
    fun with(other: Model, config: RunConfig): Engine = Engine(other, config, setup, code)

    fun configOf(other: Model): RunConfig = config.copy(
        provider = other.provider,
        model = other.name,
        api = other.api,
        baseUrl = other.baseUrl,
        headers = other.headers,
        providers = other.customProviders,
    )

    /** The agent whose conversations are kept in a store: in the definition's own if there is none. */
    fun agent(store: SessionStore? = null): FfiAgent {
        if (store == null || store == setup.store?.store) return own
        return synchronized(others) {
            others[store]?.get() ?: create(setup.copy(store = StoreSetup(store, setup.store?.waits ?: false)))
                .also { others[store] = WeakReference(it) }
        }
    }

    /** A conversation of one turn, and how it is forgotten. */
    fun once(): HeldThread {
        val agent = agent()
        val key = ThreadKey(UUID.randomUUID().toString())
        val thread = agent.thread(key)
        return HeldThread(thread) {
            agent.forgetThread(key)
            thread.close()
        }
    }

    /** What a conversation leaves after each turn: a thread that is unread, unless the app itself looks after those. */
    fun read(agent: FfiAgent, key: ThreadKey) {
        if (setup.registry == null) agent.registry().use { it.markRead(key) }
    }

    /** Informs all of its agents, also those that are made later, of a change of the device. */
    fun inform(background: Boolean? = null, offline: Boolean? = null): Unit = synchronized(others) {
        background?.let { isInBackground = it }
        offline?.let { isOffline = it }
        val made = others.values.mapNotNull { it.get() } + own
        for (agent in made) agent.inform(background, offline)
    }

    private fun create(setup: AgentSetup): FfiAgent {
        setLanguage("Kotlin")
        // The app's code gives the key of each request, if it gives any.
        val key = if (setup.credentials == null) model.key() else model.apiKey
        val agent = FfiAgent(config.copy(key = key), setup)
        agent.inform(isInBackground.takeIf { it }, isOffline.takeIf { it })
        return agent
    }

    private fun FfiAgent.inform(background: Boolean?, offline: Boolean?) {
        when (background) {
            true -> enteredBackground()
            false -> enteredForeground()
            null -> Unit
        }
        when (offline) {
            true -> networkLost()
            false -> networkAvailable()
            null -> Unit
        }
    }

    private fun RunRegistry.markRead(key: ThreadKey) {
        if (!unread(key)) return
        lookAt(key)
        lookAt(null)
    }
}

/** A conversation of Stepwell's own, and what is done after a turn of it. */
internal class HeldThread(val agent: FfiAgent, val afterTurn: () -> Unit)
